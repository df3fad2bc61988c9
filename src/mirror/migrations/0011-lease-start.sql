-- When the process of the holder began, in the words of its system. With its number that names one process.
ALTER TABLE lease ADD COLUMN process_start TEXT;
