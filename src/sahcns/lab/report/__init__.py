"""Tables, figures and the page that shows them: plain data in, Markdown, LaTeX, CSV, SVG, PNG or HTML out."""
