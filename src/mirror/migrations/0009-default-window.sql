-- Whether a full pass was asked for without a first day, and showed nothing that is old: the service may have shown only its
-- own default of days.
ALTER TABLE passes ADD COLUMN is_default_window INTEGER NOT NULL DEFAULT 0 CHECK (is_default_window IN (0, 1));
