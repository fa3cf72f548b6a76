"""The commitments to a layer's preprocessed columns; scripts/recursion_key.py writes this file."""

COMMITMENTS = {  # by log2 of the inverse rate
    1: "a97b2183d0a49c2a2813c7987cc7374e56ea45f24516a236278132c03febde54",
    2: "379ecd496057c689ac900bb65eb0c5653025cebbd062961c9931ceaf2c8f30b0",
    3: "8e9fef61089b4f77f3555cee96738a3b5b1f79e95e0beeafad4f25aaadebcedd",
    4: "54e9cea7fd387a7b0b0af9647fd39cad10174acd95ef43d9d8c5ac2e5e8e4aba",
    5: "6984c858e671b6df35b464cd465cee457281e591604d328701c52ae875ab4eb8",
    6: "5e24c6cc51a01dd15d6db306c95170085d3b340c694811e798c7494bb26c6ba6",
}
