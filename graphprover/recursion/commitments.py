"""The commitments to a layer's preprocessed columns; scripts/recursion_key.py writes this file."""

COMMITMENTS = {  # by log2 of the inverse rate
    1: "f3724e9bc8664f7111abed518c3aa6ebb751cfabafdbdb10093c2d0a522f78fa",
    2: "a1c4ef5f8bc9211d516854d393c634aeb2e93b6004626dbe729db38989bf0306",
    3: "f574cece0e43e340dab783c14e1d3455b3b40205868fc64a71ecb609642b0a2b",
    4: "068dda499b5db1ebfc87ba9226aa2ded9c744f176a84a3a4ab968d2cefc787f1",
    5: "f62859d02668b1913b56665f6a863431d8cb5e93f85cc856843e133517475257",
    6: "96d002508898ec58e8f3bfa36b77dc4b321402c1fb246f2effc50a77b810b3df",
}
