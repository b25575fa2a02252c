"""Receive large files in pieces and import them by a job that survives a restart.

``file_uploads.FileUploadStore`` is the entry; ``folder.UploadFolder`` keeps the bytes on disk.
"""
