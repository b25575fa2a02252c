"""Import files into a memory, list the imports, and undo one.

``runs.ImportRunRegistry`` is the entry: it logs each import and calls ``importer.load``, which
reads a file by ``transfer.formats`` and stores its contents in batches.
"""
