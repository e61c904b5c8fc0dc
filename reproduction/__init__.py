"""The paper's whole study as data: which runs, and what the paper prints for them."""
