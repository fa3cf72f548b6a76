"""The commitments to a layer's preprocessed columns; scripts/recursion_key.py writes this file."""

COMMITMENTS = {  # by log2 of the inverse rate
    1: "70e5833efd228aa9462a2db760d4f08c705e231ece4c343c2122e52fedac23dc",
    2: "82f942ba0ec5337e4c3314236ae571eacf06e5bdd71f50d916cb110e5a1c642b",
    3: "79aaab1e51300185d3b402aa65e5f06eca2358bc6caa7c69194c4c49e1e16e99",
    4: "4e6ae1f1d98e70460c23c6492ca9ee579a6cd71174b6b3b9fb81b2f92f021a3d",
    5: "efec3e62b91ed028fd7be246dbb83309819ed4f7eb2ab677dbf0f868062d1e07",
    6: "7d380027721c7099ce194c078b5a067ea9700bc910463d86bff9bcb45c63b44e",
    7: "fe30c8b792d2f7a243873a2c242bab28377eea9a758490d009c7d6de6b0f8c6f",
    8: "44c31ec708ec52f0bc367f466be1ef69749602428d4c8e081db6853bf2ac7333",
}
