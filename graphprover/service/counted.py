"""What the prover process counts for the metrics of the service, with the help of each metric."""

RETRIES, CYCLES, CELLS, BYTES = "worker_retries", "proved_cycles", "proved_cells", "proved_bytes"

COUNTED = {
    RETRIES: "Attempts of proofs that workers repeated",
    CYCLES: "Cycles of guests in proofs that were made",
    CELLS: "Cells that these proofs commit to",
    BYTES: "Bytes of these proofs",
}
