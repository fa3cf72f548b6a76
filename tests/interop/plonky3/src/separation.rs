//! The opening of a shard's main columns at its separating point (docs/protocol.md, section 16).
//!
//! Plonky3 has no such opening. Its verifier and prover stay as they are: this module is a commitment scheme around
//! theirs that adds one point to each matrix of the main round, and takes its values from the shard. So Plonky3's own
//! code draws the batching challenge over all openings, and checks them.

use std::array::from_fn;
use std::sync::{Arc, Mutex};

use p3_challenger::{CanObserve, CanSample};
use p3_commit::{
    CommitmentOpening, OpenedValues, OpeningRequest, Pcs, PeriodicLdeTable, PointOpening, UnivariateStarkPcs,
};
use p3_field::coset::TwoAdicMultiplicativeCoset;
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing, PrimeField64};
use p3_matrix::dense::RowMajorMatrix;
use p3_matrix::interpolation::Interpolate;

use crate::profile::{Challenge, Val};

/// Of each table: its main columns at the separating point.
pub type Values = Vec<Vec<Challenge>>;

type Domain = TwoAdicMultiplicativeCoset<Val>;
type Traces = Vec<RowMajorMatrix<Val>>;

/// The separating point of a shard and the values there, while a proof is made or checked.
#[derive(Default)]
pub struct Separation(Mutex<State>);

#[derive(Default)]
struct State {
    /// Of a shard that is checked: what it claims.
    claimed: Option<Values>,
    /// Of a shard that is made: its main columns, once they are committed to.
    traces: Option<Traces>,
    drawn: Option<(Challenge, Values)>,
}

impl Separation {
    /// Starts a check of a shard with these values.
    pub fn claim(&self, values: Values) {
        *self.0.lock().unwrap() = State {
            claimed: Some(values),
            ..State::default()
        };
    }

    /// Starts a proof of a shard.
    pub fn begin(&self) {
        *self.0.lock().unwrap() = State::default();
    }

    /// Draws the point, and absorbs the values there.
    pub fn draw(&self, challenger: &mut (impl CanSample<u8> + CanObserve<u8>)) {
        let coefficients: [Val; 3] = from_fn(|_| element(challenger));
        assert!(
            coefficients[1..].iter().any(|word| *word != Val::ZERO),
            "the separating point is in the base field"
        );
        let point = Challenge::from_basis_coefficients_fn(|i| coefficients[i]);
        let mut state = self.0.lock().unwrap();
        let values: Values = match (&state.claimed, &state.traces) {
            (Some(claimed), _) => claimed.clone(),
            (None, traces) => {
                let traces = traces.as_ref().expect("main columns are committed to first");
                traces.iter().map(|trace| trace.interpolate_subgroup(point)).collect()
            }
        };
        for value in values.iter().flatten() {
            for word in value.as_basis_coefficients_slice() {
                challenger.observe_slice(&Val::as_canonical_u64(word).to_le_bytes());
            }
        }
        state.drawn = Some((point, values));
    }

    /// The point that was drawn, and the values there.
    pub fn drawn(&self) -> (Challenge, Values) {
        let state = self.0.lock().unwrap();
        state
            .drawn
            .clone()
            .expect("a shard draws its point before its lookup challenges")
    }

    fn keep(&self, traces: &[(Domain, RowMajorMatrix<Val>)]) {
        let mut state = self.0.lock().unwrap();
        if state.traces.is_none() {
            state.traces = Some(traces.iter().map(|(_, trace)| trace.clone()).collect());
        }
    }
}

/// An element of the base field from 8 bytes, as Plonky3's `SerializingChallenger64` samples one.
fn element(challenger: &mut impl CanSample<u8>) -> Val {
    loop {
        let word = u64::from_le_bytes(from_fn(|_| challenger.sample()));
        if word < Val::ORDER_U64 {
            return Val::from_u64(word);
        }
    }
}

/// Plonky3's commitment scheme, with the opening of a shard if there is one.
#[derive(Clone)]
pub struct SeparatingPcs<P> {
    pub inner: P,
    pub separation: Option<Arc<Separation>>,
}

impl<P, C> Pcs<Challenge, C> for SeparatingPcs<P>
where
    P: Pcs<Challenge, C, Domain = Domain>,
{
    type Domain = Domain;
    type Commitment = P::Commitment;
    type ProverData = P::ProverData;
    type Proof = P::Proof;
    type Error = P::Error;
    type ProverError = P::ProverError;

    fn natural_domain_for_degree(&self, degree: usize) -> Domain {
        self.inner.natural_domain_for_degree(degree)
    }

    fn commit(
        &self,
        evaluations: impl IntoIterator<Item = (Domain, RowMajorMatrix<Val>)>,
    ) -> Result<(P::Commitment, P::ProverData), P::ProverError> {
        let Some(separation) = &self.separation else {
            return self.inner.commit(evaluations);
        };
        let evaluations: Vec<_> = evaluations.into_iter().collect();
        separation.keep(&evaluations);
        self.inner.commit(evaluations)
    }

    fn open(
        &self,
        mut requests: Vec<OpeningRequest<'_, P::ProverData, Challenge>>,
        challenger: &mut C,
    ) -> Result<(OpenedValues<Challenge>, P::Proof), P::ProverError> {
        let Some(separation) = &self.separation else {
            return self.inner.open(requests, challenger);
        };
        let (point, values) = separation.drawn();
        for points in &mut requests[MAIN].points {
            points.push(point);
        }
        let (mut opened, proof) = self.inner.open(requests, challenger)?;
        for (of_matrix, values) in opened[MAIN].iter_mut().zip(values) {
            assert!(of_matrix.pop() == Some(values), "Plonky3 opens at other values");
        }
        Ok((opened, proof))
    }

    fn verify(
        &self,
        mut rounds: Vec<CommitmentOpening<Challenge, P::Commitment, Domain>>,
        proof: &P::Proof,
        challenger: &mut C,
    ) -> Result<(), P::Error> {
        if let Some(separation) = &self.separation {
            let (point, values) = separation.drawn();
            let matrices = &mut rounds[MAIN].matrices;
            assert!(matrices.len() == values.len(), "values of another number of tables");
            for (matrix, values) in matrices.iter_mut().zip(values) {
                matrix.points.push(PointOpening { point, values });
            }
        }
        self.inner.verify(rounds, proof, challenger)
    }
}

/// The round of the main columns: the first one without zero-knowledge.
const MAIN: usize = 0;

impl<P, C> UnivariateStarkPcs<Challenge, C> for SeparatingPcs<P>
where
    P: UnivariateStarkPcs<Challenge, C, Domain = Domain>,
{
    type EvaluationsOnDomain<'a> = P::EvaluationsOnDomain<'a>;

    const ZK: bool = P::ZK;

    fn log_max_trace_height(&self) -> usize {
        self.inner.log_max_trace_height()
    }

    fn log_min_trace_height(&self) -> usize {
        self.inner.log_min_trace_height()
    }

    /// Not `commit`, which keeps main columns.
    fn commit_preprocessing(
        &self,
        evaluations: impl IntoIterator<Item = (Domain, RowMajorMatrix<Val>)>,
    ) -> Result<(P::Commitment, P::ProverData), P::ProverError> {
        self.inner.commit_preprocessing(evaluations)
    }

    fn get_quotient_ldes(
        &self,
        evaluations: impl IntoIterator<Item = (Domain, RowMajorMatrix<Val>)>,
        num_chunks: usize,
    ) -> Result<Vec<RowMajorMatrix<Val>>, P::ProverError> {
        self.inner.get_quotient_ldes(evaluations, num_chunks)
    }

    fn commit_ldes(&self, ldes: Vec<RowMajorMatrix<Val>>) -> Result<(P::Commitment, P::ProverData), P::ProverError> {
        self.inner.commit_ldes(ldes)
    }

    fn get_evaluations_on_domain<'a>(
        &self,
        data: &'a P::ProverData,
        index: usize,
        domain: Domain,
    ) -> P::EvaluationsOnDomain<'a> {
        self.inner.get_evaluations_on_domain(data, index, domain)
    }

    fn build_periodic_lde_table(
        &self,
        columns: &[Vec<Val>],
        trace_domain: Domain,
        quotient_domain: Domain,
    ) -> PeriodicLdeTable<Val> {
        self.inner
            .build_periodic_lde_table(columns, trace_domain, quotient_domain)
    }
}
