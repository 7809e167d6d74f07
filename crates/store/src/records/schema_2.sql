-- What is known of a credential, never the credential itself: that is in the system's keyring, in memory, or in a variable.
CREATE TABLE credential (
    name TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    place TEXT NOT NULL,
    variable TEXT,
    added INTEGER NOT NULL,
    replaced INTEGER,
    used INTEGER,
    expires INTEGER
) STRICT;
