"""The paper's method of making new prompts; its product is a file that `prompt_sets` reads.

Seeds, rewrites, moderation, a second chance, and the selection of the hard and the toxic: each
stage is an Inspect task whose logs are all that the next stage reads.
"""
