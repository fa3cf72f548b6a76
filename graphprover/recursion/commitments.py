"""The commitments to a layer's preprocessed columns; scripts/recursion_key.py writes this file."""

COMMITMENTS = {  # by log2 of the inverse rate
    1: "09946f525371644f521113ac00d330c4eeeafe7ffe7d5fbe949d4a7675f3d0ad",
    2: "9e2b0245b16022c1f1ab3e3b13405283605458a3c2f57a988b3cf6208852ad4e",
    3: "a49ca80282eb7c82038b1cb543e6cb57037d927bd9c1d6c941516f01ee85f270",
    4: "7e1086608548325e6804abace5d445609e0bb7718cdfad35426a3072f2242d92",
    5: "b9d18ec36f01ac13b190514c1a9a4f3e3402674722462e65664d8169f9f9d4c3",
    6: "a188a05ead7986d3eaf1de473a4fedf4e80aaa49470a36fd09c6ab4d2518644e",
}
