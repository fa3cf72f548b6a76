//! A statement and its traces, read from JSON and from the binary trace file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use p3_field::PrimeField64;
use p3_matrix::dense::RowMajorMatrix;
use serde::Deserialize;

use crate::air::Table;
use crate::description::Description;
use crate::hash::{Digest, HashName};
use crate::profile::Val;
use crate::shard::Shard;

pub type Result<T> = std::result::Result<T, String>;

#[derive(Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    pub hash: HashName,
    pub log_blowup: u16,
    pub num_queries: u16,
    pub log_final_poly_len: u16,
    pub max_log_arity: u16,
    pub cap_height: u16,
    pub lookup_pow_bits: u16,
    pub ood_pow_bits: u16,
    pub batch_pow_bits: u16,
    pub commit_pow_bits: u16,
    pub query_pow_bits: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableJson {
    air: Description,
    /// The largest degree of a fraction column's constraint.
    pin_budget: usize,
    log_height: usize,
    public_values: Vec<u64>,
    /// Column-major, one list of `2^log_height` values a column.
    preprocessed: Option<Vec<Vec<u64>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShardJson {
    index: usize,
    digests: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatementJson {
    parameters: Parameters,
    label: String,
    /// Missing of a proof that is not in shards.
    shard: Option<ShardJson>,
    tables: Vec<TableJson>,
}

pub struct Statement {
    pub parameters: Parameters,
    /// Of the proof: bound by it, and no part of what it says.
    pub label: String,
    pub shard: Option<Arc<Shard>>,
    pub tables: Vec<Table>,
    /// Of each table, up to which Plonky3 packs its fraction columns.
    pub pin_budgets: Vec<usize>,
    pub log_heights: Vec<usize>,
    pub public_values: Vec<Vec<Val>>,
}

impl Statement {
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let json: StatementJson =
            serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut statement = Self {
            parameters: json.parameters,
            label: json.label,
            shard: json.shard.map(shard).transpose()?.map(Arc::new),
            tables: Vec::new(),
            pin_budgets: Vec::new(),
            log_heights: Vec::new(),
            public_values: Vec::new(),
        };
        for table in json.tables {
            let name = table.air.name.clone();
            let fail = |message: String| format!("table {name}: {message}");
            if table.log_height > 32 {
                return Err(fail(format!("height 2^{} is not two-adic", table.log_height)));
            }
            if table.public_values.len() != table.air.num_public_values {
                return Err(fail(format!(
                    "{} public values given, {} declared",
                    table.public_values.len(),
                    table.air.num_public_values
                )));
            }
            let preprocessed = table
                .preprocessed
                .map(|columns| matrix(&columns, 1 << table.log_height))
                .transpose()
                .map_err(fail)?;
            statement.pin_budgets.push(table.pin_budget);
            statement.log_heights.push(table.log_height);
            statement
                .public_values
                .push(table.public_values.into_iter().map(element).collect::<Result<_>>()?);
            statement.tables.push(Table::new(table.air, preprocessed)?);
        }
        Ok(statement)
    }

    /// The main traces: for each table its columns and rows, then the columns one after the other, all u64 LE.
    pub fn read_traces(&self, path: &Path) -> Result<Vec<RowMajorMatrix<Val>>> {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut words = bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("chunks of eight bytes")));
        let mut traces = Vec::with_capacity(self.tables.len());
        for (table, &log_height) in self.tables.iter().zip(&self.log_heights) {
            let (width, height) = (table.description.main_width, 1 << log_height);
            if (words.next(), words.next()) != (Some(width as u64), Some(height as u64)) {
                return Err(format!(
                    "{}: table {} is not {width} columns of {height} rows",
                    path.display(),
                    table.description.name
                ));
            }
            let mut trace = RowMajorMatrix::new(vec![Val::default(); width * height], width);
            for column in 0..width {
                for row in 0..height {
                    let word = words.next().ok_or_else(|| format!("{}: too short", path.display()))?;
                    trace.values[row * width + column] = element(word)?;
                }
            }
            traces.push(trace);
        }
        match words.next() {
            None if bytes.len() % 8 == 0 => Ok(traces),
            _ => Err(format!("{}: trailing bytes", path.display())),
        }
    }
}

/// A canonical field element.
pub fn element(word: u64) -> Result<Val> {
    if word < Val::ORDER_U64 {
        Ok(Val::new(word))
    } else {
        Err(format!("{word} is not a canonical field element"))
    }
}

fn matrix(columns: &[Vec<u64>], height: usize) -> Result<RowMajorMatrix<Val>> {
    if let Some(column) = columns.iter().find(|column| column.len() != height) {
        return Err(format!("a preprocessed column has {} rows, not {height}", column.len()));
    }
    let values = (0..height)
        .flat_map(|row| columns.iter().map(move |column| element(column[row])))
        .collect::<Result<_>>()?;
    Ok(RowMajorMatrix::new(values, columns.len()))
}

fn shard(json: ShardJson) -> Result<Shard> {
    let digests = json
        .digests
        .iter()
        .map(|text| digest(text))
        .collect::<Result<Vec<_>>>()?;
    if digests.len() < 2 || json.index >= digests.len() {
        return Err(format!("there is no shard {} of {}", json.index, digests.len()));
    }
    Ok(Shard {
        index: json.index,
        digests,
    })
}

fn digest(text: &str) -> Result<Digest> {
    let bytes = (text.is_ascii() && text.len() == 64)
        .then(|| (0..64).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16)))
        .and_then(|pairs| pairs.collect::<std::result::Result<Vec<u8>, _>>().ok())
        .ok_or("a digest is not 64 hexadecimal digits")?;
    Ok(bytes.try_into().expect("64 digits are 32 bytes"))
}
