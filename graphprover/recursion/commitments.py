"""The commitments to a layer's preprocessed columns; scripts/recursion_key.py writes this file."""

COMMITMENTS = {  # by log2 of the inverse rate
    1: "0addd56f37753e7d68657f0a90742e94a04c361814f92571a5f0679b9b98105b",
    2: "a8fefc86876485d31e282f9efd2e6824bae08af4cfeda8d4a0b3cfdcc7bd2e67",
    3: "63fa900b9d8f180fad3cd096eceb8b10a4b7005e135a39a037bbb3b431704935",
    4: "c9d2b9c930c7dfca1960bee834aa8b5bf00f5332e4ae423820a4c3f18bf3fec4",
    5: "2b88009b077de5459333c7d31a8407677c9b2b5e6950a7feeb33254f69db8e96",
    6: "02cc97b1ee69cf3b89a222bc2a3af4e2f45a97e564294ffb1d4d92dac0b7e6f1",
}
