"""The commitments to a layer's preprocessed columns; scripts/recursion_key.py writes this file."""

COMMITMENTS = {  # by log2 of the inverse rate
    1: "929ab2a7c425ee2b3bbe958132b5108493f340e1aa47c10fae6a48422d02ad68",
    2: "d09a612447dc60e2a123fc2058967014e9787ec269fcf9d9e6b6797a472ee9c3",
    3: "f87cff59cff24c06d1a3402338563960523d6fdd529f423db5b119130da5c18b",
    4: "d3a669021d7f322179d1983d097a2d54e485947d7fe3797575b22b8a68799db7",
    5: "9495d9cb7629116a41d35976c0d4129e7377560e1e54e0baa1d8d66e672a9c76",
    6: "c46acdcc001e5924d45881fd387487a0e6d7b3e202d9168e68024b2b1207500d",
}
