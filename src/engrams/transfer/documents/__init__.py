"""Documents that people give: read, cut into passages, and kept as long as they are wanted.

``library.DocumentLibrary`` is the entry. A document goes through these files, in this order:

==================  ==================================================================================
document_files      is the file a document? its bytes
stored_documents    is it stored already? the earlier version that it takes the place of
web_pages           a page of the web is fetched
reading_process     a process of its own, with little memory and time, reads it
limited_process     such a process: its pipe, and its limits of memory, time and files
document_kinds      which kind it is
document_readers    the reader of each kind
read_document       what a reader returns: blocks of text with their headings and pages
recognised_text     the text of pictures and of scanned pages, which ``text_recognition`` reads
document_notes      the user's words before those of the document
passages            blocks to passages, each a memory of the kind ``passage``
attachment_folder   the files of pictures and sounds are kept
watched_folders     a folder whose documents memory follows
mail_folders        a folder of a mail server whose messages memory follows
library             add, list, read, forget, restore and purge documents
==================  ==================================================================================

Readers: ``pdf`` (with ``pdf_tables``), ``word``, ``slides``, ``sheets``, ``open_document``, ``epub`` (the last five open
their zips by ``packages``), ``html``, ``mail``, ``cards``, ``plain_text``, ``pictures``, ``sounds``.
"""
