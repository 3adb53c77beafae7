-- procedures and functions of a catalog
SHOW PROCEDURES IN lake.system;

SHOW PROCEDURES FROM lake.routines;

SHOW PROCEDURES IN lake.nowhere;

DESCRIBE PROCEDURE lake.system.rollback_to_snapshot;

DESC PROCEDURE lake.system.rollback_to_snapshots;

DESCRIBE FUNCTION lake.system.bucket;

DESC FUNCTION EXTENDED system.days;

DESCRIBE FUNCTION lake.system.nothing;

-- names of other systems, slips, and names that mean nothing here
CALL lake.system.purge_files('db.t');

CALL lake.system.expire_tags('db.t');

CALL lake.system.fast_foward('db.t');

CALL lake.system.foo('db.t');
