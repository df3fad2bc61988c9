-- The person of a recording in a playlist: an erasure reaches the row also where the mirror does not have the recording.
ALTER TABLE playlist_recordings ADD COLUMN person_uuid TEXT;
