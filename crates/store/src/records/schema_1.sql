-- Times are milliseconds since 1970, in UTC.

CREATE TABLE sandbox (
    id TEXT PRIMARY KEY,
    runtime TEXT NOT NULL,
    connection TEXT,
    name TEXT NOT NULL,
    handle TEXT NOT NULL,
    state TEXT NOT NULL,
    created INTEGER NOT NULL,
    ended INTEGER
) STRICT;
CREATE INDEX sandbox_by_state ON sandbox (state);

CREATE TABLE kept_kernel (
    id TEXT PRIMARY KEY,
    sandbox TEXT NOT NULL REFERENCES sandbox (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    document TEXT,
    handle TEXT NOT NULL,
    kept INTEGER NOT NULL
) STRICT;
CREATE INDEX kept_kernel_by_sandbox ON kept_kernel (sandbox);

CREATE TABLE document (
    path TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    opened INTEGER NOT NULL
) STRICT;

CREATE TABLE recent_notebook (
    path TEXT PRIMARY KEY,
    runtime TEXT,
    opened INTEGER NOT NULL
) STRICT;
CREATE INDEX recent_notebook_by_time ON recent_notebook (opened);

-- No reference to the sandbox: its record may be gone before the log of what ran in it is.
CREATE TABLE execution (
    id TEXT PRIMARY KEY,
    sandbox TEXT NOT NULL,
    document TEXT,
    cell TEXT,
    code TEXT NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER,
    outcome TEXT
) STRICT;
CREATE INDEX execution_by_document ON execution (document, started);
CREATE INDEX execution_by_sandbox ON execution (sandbox, started);
CREATE INDEX execution_by_time ON execution (started);
