"""What every catalog must do, as one class of tests; each kind of catalog derives from it and says how it is opened.

Nothing here looks into a catalog: what is asked is asked through its interface, at times by several processes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from catalog.made_tables import DB, OTHER, VIEW, changed, create, land, refused, said_last, view_at
from catalog.racers import TURNS, Opener, count_both_up, count_up, create_one, in_processes
from small_tables import ORDERS
from sqlext.catalog.catalog import Catalog, TableCommit
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference, DropReference
from sqlext.commit.actions.registration import RegisterTable
from sqlext.commit.actions.schema_change import ChangeSchema
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, FieldTerm
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    CommitConflict,
    CorruptionError,
    NotFoundError,
    SqlextError,
    UnsupportedError,
    ValidationConflict,
)
from sqlext.properties import METADATA_PATH
from sqlext.spec.schema_change import AddColumn
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import LongType
from sqlext.storage.location import join
from unit.spec.metadata.test_view_metadata import LONGS, version

RACERS = 3


class CatalogContract:
    """Tests of one kind of catalog. Each starts with an empty catalog that has the namespace `db`."""

    keeps_namespace_properties = True
    renames = True
    isolates_tables = True
    keeps_locations_apart = True
    undrops = True
    writes_metadata_files = True
    has_metadata_tables = False

    @pytest.fixture
    def opener(self) -> Iterator[Opener]:
        """Opens one and the same catalog anew, also in another process: it can be pickled."""
        raise NotImplementedError

    @pytest.fixture
    def catalog(self, opener: Opener) -> Catalog:
        catalog = opener()
        catalog.create_namespace(DB, {})
        return catalog

    # tables

    def test_a_table_is_made_loaded_listed_and_dropped(self, catalog: Catalog) -> None:
        assert not catalog.table_exists(ORDERS)
        made = create(catalog, properties={"a": "1"})
        loaded = catalog.load_table(ORDERS)
        assert loaded.metadata == made.metadata
        assert loaded.metadata_location == made.metadata_location == catalog.current_metadata_location(ORDERS)
        assert loaded.metadata.properties["a"] == "1"
        assert catalog.table_exists(ORDERS)
        assert catalog.list_tables(DB) == (ORDERS,)
        assert catalog.drop_table(ORDERS, purge=False)
        assert not catalog.table_exists(ORDERS)
        assert catalog.list_tables(DB) == ()
        assert not catalog.drop_table(ORDERS, purge=False)

    def test_what_is_not_there_is_not_found(self, catalog: Catalog) -> None:
        for ask in (catalog.load_table, catalog.current_metadata_location, catalog.views.load_view):
            with pytest.raises(NotFoundError) as caught:
                ask(ORDERS)
            assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
        nowhere = TableIdentifier(("nowhere",), "t")
        assert not catalog.table_exists(nowhere)
        with pytest.raises(NotFoundError) as caught:
            catalog.list_tables(("nowhere",))
        assert caught.value.condition == "SCHEMA_NOT_FOUND"

    def test_a_table_with_a_dot_in_its_name_is_no_namespace(self, catalog: Catalog) -> None:
        dotted = TableIdentifier(DB, "dot.ted")
        create(catalog, dotted)
        assert catalog.list_tables(DB) == (dotted,)
        # As Spark asks for the metadata table db.`dot.ted`.files.
        below = TableIdentifier((*DB, "dot.ted"), "files")
        if self.has_metadata_tables:
            return
        assert not catalog.table_exists(below)
        for ask in (catalog.load_table, catalog.current_metadata_location, catalog.views.load_view):
            with pytest.raises(NotFoundError) as caught:
                ask(below)
            assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"

    def test_a_table_is_made_once(self, catalog: Catalog) -> None:
        made = create(catalog)
        with pytest.raises(AlreadyExistsError):
            create(catalog)
        assert catalog.load_table(ORDERS).metadata == made.metadata

    def test_of_two_commits_on_one_base_one_lands(self, catalog: Catalog) -> None:
        base = create(catalog)
        landed = catalog.commit(ORDERS, base, changed(base, winner="first"))
        with refused(CommitConflict):
            catalog.commit(ORDERS, base, changed(base, winner="second"))
        current = catalog.load_table(ORDERS)
        assert current.metadata == landed.metadata
        assert said_last(current)["winner"] == "first"
        log = [entry.metadata_file for entry in current.metadata.metadata_log]
        assert log == [base.metadata_location]

    def test_each_commit_goes_on_from_the_last(self, catalog: Catalog) -> None:
        table = create(catalog)
        for number in range(4):
            table = catalog.commit(ORDERS, table, changed(table, number=str(number)))
            assert catalog.load_table(ORDERS).metadata == table.metadata
        assert len(table.metadata.metadata_log) == 4
        assert table.metadata.table_uuid == catalog.load_table(ORDERS).metadata.table_uuid

    def test_an_earlier_version_takes_the_place_of_one_that_cannot_be_read(self, catalog: Catalog) -> None:
        first = create(catalog)
        table = catalog.commit(ORDERS, first, changed(first, number="1"))
        if not self.writes_metadata_files:
            with refused(UnsupportedError):
                catalog.replace_damaged(ORDERS, table.metadata_location, first.metadata)
            return
        catalog.io.replace(table.metadata_location, b"{")
        with refused(CorruptionError):
            catalog.load_table(ORDERS)
        with refused(CommitConflict):
            catalog.replace_damaged(ORDERS, first.metadata_location, first.metadata)
        made = catalog.replace_damaged(ORDERS, table.metadata_location, first.metadata)
        assert catalog.load_table(ORDERS) == made
        assert made.metadata == first.metadata
        assert catalog.commit(ORDERS, made, changed(made, number="2")) == catalog.load_table(ORDERS)
        with refused(CommitConflict):
            catalog.replace_damaged(ORDERS, table.metadata_location, first.metadata)

    def test_a_commit_to_a_dropped_table_does_not_land(self, catalog: Catalog) -> None:
        base = create(catalog)
        catalog.drop_table(ORDERS, purge=False)
        with refused(NotFoundError, CommitConflict):
            catalog.commit(ORDERS, base, changed(base, a="1"))
        assert not catalog.table_exists(ORDERS)

    def test_a_commit_to_a_table_made_anew_does_not_land(self, catalog: Catalog) -> None:
        base = create(catalog)
        catalog.drop_table(ORDERS, purge=False)
        anew = create(catalog)
        with refused(CommitConflict, NotFoundError, ValidationConflict):
            catalog.commit(ORDERS, base, changed(base, a="1"))
        assert catalog.load_table(ORDERS).metadata == anew.metadata

    def test_purge_takes_the_files_along(self, catalog: Catalog) -> None:
        table = create(catalog)
        table = land(catalog, AppendFiles(()), ORDERS, table)
        table = land(catalog, ChangeProperties({"a": "1"}), ORDERS, table)
        assert catalog.drop_table(ORDERS, purge=True)
        left = [status.path for status in catalog.io.list(table.metadata.location)]
        # Hadoop's local file system puts hidden sums beside what it writes
        assert [path for path in left if not path.endswith(".crc")] == []

    def test_purge_is_refused_where_files_are_shared(self, catalog: Catalog) -> None:
        table = create(catalog, properties={"gc.enabled": "false"})
        with pytest.raises(UnsupportedError) as caught:
            catalog.drop_table(ORDERS, purge=True)
        assert caught.value.condition == "UNSUPPORTED_CATALOG_OPERATION"
        assert catalog.load_table(ORDERS).metadata == table.metadata

    def test_expired_snapshots_and_unused_definitions_leave(self, catalog: Catalog) -> None:
        """What a server has to be told apart from the other changes of a table."""
        table = create(catalog)
        table = land(catalog, ChangeSpec((AddField(FieldTerm(("region",), IdentityTransform())),)), ORDERS, table)
        table = land(catalog, ChangeSchema((AddColumn(("n",), LongType()),)), ORDERS, table)
        for _ in range(3):
            table = land(catalog, AppendFiles(()), ORDERS, table)
        ids = [one.snapshot_id for one in table.metadata.snapshots]
        table = land(catalog, CreateReference("kept", "tag", ids[0]), ORDERS, table)
        expiry = ExpireSnapshots(older_than_ms=2**50, clean_definitions=True)
        landed = land(catalog, expiry, ORDERS, table)
        current = catalog.load_table(ORDERS).metadata
        assert current == landed.metadata
        assert [one.snapshot_id for one in current.snapshots] == [ids[0], ids[2]]
        assert current.refs.keys() == {"main", "kept"}
        assert current.partition_specs == (current.spec(),)
        assert current.schemas == (current.schema(),)
        table = land(catalog, DropReference("kept", "tag"), ORDERS, landed)
        land(catalog, expiry, ORDERS, table)
        assert [one.snapshot_id for one in catalog.load_table(ORDERS).metadata.snapshots] == ids[2:]

    def test_what_is_a_tables_to_delete_is_in_its_folders(self, catalog: Catalog) -> None:
        """Metadata may name any file, and a folder of another table as the table's own."""
        other = create(catalog, OTHER)
        table = create(catalog)
        owns = catalog.owned_by(table)
        here, there = table.metadata.location, other.metadata.location
        assert owns(f"{here}/data/region=eu/a.parquet")
        assert owns(f"{here}/metadata/snap-1.avro")
        for path in (here, f"{here}/", f"{there}/data/a.parquet", f"{here}/../other/data/a", "/etc/passwd", "", "a"):
            assert not owns(path), path
        hostile = replace(table.metadata, properties={"write.data.path": f"{there}/data"})
        if self.keeps_locations_apart:
            assert not catalog.owned_by(replace(table, metadata=hostile))(f"{there}/data/a.parquet")
        assert catalog.owned_by(replace(table, metadata=hostile))(f"{here}/data/a.parquet")
        above = here.rpartition("/")[0].rpartition("/")[0].rpartition("/")[0]
        everything = replace(table.metadata, location=above)
        assert not catalog.owned_by(replace(table, metadata=everything))(f"{above}/a.parquet")

    def test_metadata_that_is_there_is_registered(self, catalog: Catalog) -> None:
        table = create(catalog)
        moved = replace(
            table.metadata,
            location=catalog.default_table_location(OTHER),
            table_uuid=str(uuid.UUID(int=7, version=4)),
            metadata_log=(),
        )
        registered = land(catalog, RegisterTable(moved), OTHER)
        assert registered.metadata.table_uuid == moved.table_uuid
        assert catalog.load_table(OTHER).metadata == registered.metadata
        assert catalog.list_tables(DB) == (ORDERS, OTHER)

    def test_a_table_is_taken_over_where_it_is(self, catalog: Catalog) -> None:
        table = land(catalog, AppendFiles(()), ORDERS, create(catalog))
        if not self.renames:
            assert catalog.register_table(OTHER, table.metadata_location) is None
            return
        catalog.drop_table(ORDERS, purge=False)
        adopted = catalog.register_table(OTHER, table.metadata_location)
        assert adopted is not None
        assert catalog.load_table(OTHER).metadata == adopted.metadata == table.metadata
        landed = land(catalog, AppendFiles(()), OTHER, adopted)
        assert len(landed.metadata.snapshots) == 2
        with pytest.raises(AlreadyExistsError):
            catalog.register_table(OTHER, table.metadata_location)
        if self.keeps_locations_apart:
            with pytest.raises(AnalysisError) as caught:
                catalog.register_table(ORDERS, table.metadata_location)
            assert caught.value.condition == "LOCATION_IN_USE"
            with pytest.raises(AnalysisError):
                catalog.undrop_table(ORDERS)

    def test_a_second_table_at_one_location_is_refused(self, catalog: Catalog) -> None:
        if not self.keeps_locations_apart:
            return
        table = create(catalog)
        with pytest.raises(SqlextError) as caught:
            create(catalog, OTHER, location=table.metadata.location)
        assert caught.value.condition in ("UNSUPPORTED_CATALOG_OPERATION", "LOCATION_IN_USE")
        assert not catalog.table_exists(OTHER)
        assert catalog.load_table(ORDERS).metadata == table.metadata

    # undrop

    def test_a_dropped_table_comes_back_as_it_was(self, catalog: Catalog, opener: Opener) -> None:
        table = create(catalog)
        table = land(catalog, AppendFiles(()), ORDERS, table)
        catalog.drop_table(ORDERS, purge=False)
        if not self.undrops:
            with pytest.raises(UnsupportedError):
                catalog.undrop_table(ORDERS)
            assert catalog.dropped_tables(DB) == ()
            return
        later = opener()
        assert [dropped.identifier for dropped in later.dropped_tables(DB)] == [ORDERS]
        later.undrop_table(ORDERS)
        back = catalog.load_table(ORDERS)
        assert back.metadata == table.metadata
        assert later.dropped_tables(DB) == ()
        land(catalog, AppendFiles(()), ORDERS, back)
        with pytest.raises(NotFoundError):
            catalog.undrop_table(OTHER)

    def test_the_table_that_was_dropped_last_comes_back_first(self, catalog: Catalog) -> None:
        if not self.undrops:
            return
        uuids = []
        for _ in range(2):
            uuids.append(create(catalog).metadata.table_uuid)
            catalog.drop_table(ORDERS, purge=False)
        present = create(catalog)
        with pytest.raises(AlreadyExistsError):
            catalog.undrop_table(ORDERS)
        assert catalog.load_table(ORDERS).metadata == present.metadata
        catalog.drop_table(ORDERS, purge=True)
        for expected in reversed(uuids):
            catalog.undrop_table(ORDERS)
            assert catalog.load_table(ORDERS).metadata.table_uuid == expected
            catalog.drop_table(ORDERS, purge=True)
        with pytest.raises(NotFoundError) as caught:
            catalog.undrop_table(ORDERS)
        assert caught.value.condition == "DROPPED_TABLE_NOT_FOUND"

    # rename

    def test_a_renamed_table_is_the_same_table(self, catalog: Catalog) -> None:
        table = create(catalog)
        if not self.renames:
            with pytest.raises(UnsupportedError):
                catalog.rename_table(ORDERS, OTHER)
            return
        catalog.rename_table(ORDERS, OTHER)
        assert catalog.list_tables(DB) == (OTHER,)
        renamed = catalog.load_table(OTHER)
        assert renamed.metadata == table.metadata
        catalog.commit(OTHER, renamed, changed(renamed, a="1"))
        with pytest.raises(NotFoundError):
            catalog.load_table(ORDERS)
        with pytest.raises(NotFoundError):
            catalog.rename_table(ORDERS, TableIdentifier(DB, "third"))

    @pytest.mark.parametrize("metadata", [None, "meta", "meta/orders/metadata"])
    def test_a_table_in_the_place_of_a_renamed_one_keeps_to_itself(
        self, catalog: Catalog, metadata: str | None
    ) -> None:
        """Wherever the metadata of the renamed one is."""
        if not self.renames:
            return
        beside = catalog.default_table_location(ORDERS).rpartition("/")[0]
        first = create(catalog, properties={METADATA_PATH.name: join(beside, metadata)} if metadata else {})
        catalog.rename_table(ORDERS, OTHER)
        second = create(catalog)
        assert not self.keeps_locations_apart or second.metadata.location != first.metadata.location
        catalog.drop_table(ORDERS, purge=True)
        assert catalog.load_table(OTHER).metadata == first.metadata

    def test_a_rename_takes_no_name_that_is_taken(self, catalog: Catalog) -> None:
        if not self.renames:
            return
        table, other = create(catalog), create(catalog, OTHER)
        catalog.views.commit_view(VIEW, None, view_at(catalog))
        for taken in (OTHER, VIEW):
            with pytest.raises(AlreadyExistsError):
                catalog.rename_table(ORDERS, taken)
        with pytest.raises(NotFoundError):
            catalog.rename_table(ORDERS, TableIdentifier(("nowhere",), "t"))
        assert catalog.load_table(ORDERS).metadata == table.metadata
        assert catalog.load_table(OTHER).metadata == other.metadata

    # namespaces

    def test_namespaces_are_made_listed_and_dropped(self, catalog: Catalog) -> None:
        catalog.create_namespace(("db", "inner"), {})
        catalog.create_namespace(("zoo",), {})
        assert catalog.list_namespaces() == (DB, ("zoo",))
        assert catalog.list_namespaces(DB) == (("db", "inner"),)
        assert catalog.namespace_exists(("db", "inner"))
        assert not catalog.namespace_exists(("inner",))
        with pytest.raises(AlreadyExistsError):
            catalog.create_namespace(("zoo",), {})
        assert catalog.drop_namespace(("zoo",), cascade=False)
        assert not catalog.drop_namespace(("zoo",), cascade=False)
        assert catalog.list_namespaces() == (DB,)

    def test_a_namespace_is_dropped_when_it_is_empty(self, catalog: Catalog) -> None:
        create(catalog)
        with pytest.raises(AnalysisError) as caught:
            catalog.drop_namespace(DB, cascade=False)
        assert caught.value.condition == "SCHEMA_NOT_EMPTY"
        assert catalog.table_exists(ORDERS)
        assert catalog.drop_namespace(DB, cascade=True)
        assert not catalog.namespace_exists(DB)
        assert not catalog.table_exists(ORDERS)

    def test_properties_of_a_namespace(self, catalog: Catalog) -> None:
        if not self.keeps_namespace_properties:
            with pytest.raises(UnsupportedError):
                catalog.create_namespace(("zoo",), {"comment": "animals"})
            return
        catalog.create_namespace(("zoo",), {"comment": "animals", "owner": "Ada"})
        catalog.set_namespace_properties(("zoo",), {"owner": "Bob", "since": "1900"})
        catalog.remove_namespace_properties(("zoo",), frozenset({"comment", "absent"}))
        properties = dict(catalog.load_namespace(("zoo",)))
        properties.pop("location", None)
        assert properties == {"owner": "Bob", "since": "1900"}
        with pytest.raises(NotFoundError):
            catalog.set_namespace_properties(("nowhere",), {"a": "1"})
        with pytest.raises(NotFoundError):
            catalog.load_namespace(("nowhere",))

    # views

    def test_views_are_made_changed_listed_and_dropped(self, catalog: Catalog) -> None:
        create(catalog)
        made = catalog.views.commit_view(VIEW, None, view_at(catalog))
        assert catalog.views.load_view(VIEW).metadata == made.metadata
        assert catalog.views.list_views(DB) == (VIEW,)
        assert catalog.list_tables(DB) == (ORDERS,)
        again = made.metadata.with_version(version("q2", 1_700_000_000_001), LONGS)
        landed = catalog.views.commit_view(VIEW, made, again)
        assert catalog.views.load_view(VIEW).metadata == landed.metadata
        assert landed.metadata.version().sql("spark") == "q2"
        with pytest.raises(CommitConflict):
            catalog.views.commit_view(VIEW, made, made.metadata.with_version(version("q3"), LONGS))
        assert catalog.views.drop_view(VIEW)
        assert not catalog.views.drop_view(VIEW)
        assert not catalog.views.view_exists(VIEW)

    def test_an_earlier_version_takes_the_place_of_a_view_that_cannot_be_read(self, catalog: Catalog) -> None:
        create(catalog)
        first = catalog.views.commit_view(VIEW, None, view_at(catalog))
        view = catalog.views.commit_view(VIEW, first, first.metadata.with_version(version("q2"), LONGS))
        if not self.writes_metadata_files:
            with refused(UnsupportedError):
                catalog.views.replace_damaged(VIEW, view.metadata_location, first.metadata)
            return
        catalog.io.replace(view.metadata_location, b'{"view-uuid":')
        with refused(CorruptionError):
            catalog.views.load_view(VIEW)
        with refused(CommitConflict):
            catalog.views.replace_damaged(VIEW, first.metadata_location, first.metadata)
        made = catalog.views.replace_damaged(VIEW, view.metadata_location, first.metadata)
        assert catalog.views.load_view(VIEW) == made
        assert made.metadata == first.metadata
        again = catalog.views.commit_view(VIEW, made, made.metadata.with_version(version("q3"), LONGS))
        assert catalog.views.load_view(VIEW).metadata == again.metadata

    def test_tables_and_views_share_their_names(self, catalog: Catalog) -> None:
        create(catalog)
        made = catalog.views.commit_view(VIEW, None, view_at(catalog))
        for taken in (VIEW, ORDERS):
            with pytest.raises(AlreadyExistsError):
                catalog.views.commit_view(taken, None, view_at(catalog))
        with pytest.raises(AlreadyExistsError):
            create(catalog, VIEW)
        with pytest.raises(AnalysisError) as caught:
            catalog.load_table(VIEW)
        assert caught.value.condition == "EXPECT_TABLE_NOT_VIEW"
        with pytest.raises(AnalysisError) as caught:
            catalog.views.load_view(ORDERS)
        assert caught.value.condition == "EXPECT_VIEW_NOT_TABLE"
        with pytest.raises(AnalysisError):
            catalog.drop_table(VIEW, purge=False)
        with pytest.raises(AnalysisError):
            catalog.views.drop_view(ORDERS)
        assert catalog.views.load_view(VIEW).metadata == made.metadata

    # races

    def test_every_acknowledged_commit_of_racing_processes_counts(self, catalog: Catalog, opener: Opener) -> None:
        create(catalog)
        said = in_processes(RACERS, count_up, opener)
        assert said == [TURNS] * RACERS
        table = catalog.load_table(ORDERS)
        assert said_last(table)["counter"] == str(RACERS * TURNS)
        assert len(table.metadata.snapshots) == RACERS * TURNS

    def test_of_racing_creations_one_lands(self, catalog: Catalog, opener: Opener) -> None:
        said = in_processes(RACERS, create_one, opener)
        assert said.count("made") == 1, said
        assert said.count("AlreadyExistsError") == RACERS - 1, said
        assert catalog.table_exists(ORDERS)

    # several tables

    def test_a_commit_of_several_tables_lands_as_one(self, catalog: Catalog) -> None:
        first, second = create(catalog), create(catalog, OTHER)
        catalog.commit_tables(
            [TableCommit(ORDERS, first, changed(first, n="1")), TableCommit(OTHER, second, changed(second, n="1"))]
        )
        for identifier in (ORDERS, OTHER):
            table = catalog.load_table(identifier)
            assert said_last(table)["n"] == "1"
            catalog.commit(identifier, table, changed(table, n="2"))
            assert said_last(catalog.load_table(identifier))["n"] == "2"

    @pytest.mark.parametrize("late", [ORDERS, OTHER])
    def test_where_one_table_has_changed_none_does(self, catalog: Catalog, late: TableIdentifier) -> None:
        bases = {ORDERS: create(catalog), OTHER: create(catalog, OTHER)}
        catalog.commit(late, bases[late], changed(bases[late], faster="yes"))
        with refused(CommitConflict):
            catalog.commit_tables([TableCommit(one, base, changed(base, n="1")) for one, base in bases.items()])
        for identifier in bases:
            table = catalog.load_table(identifier)
            assert ("faster" in said_last(table), "n" in said_last(table)) == (identifier == late, False)
            assert said_last(catalog.commit(identifier, table, changed(table, m="1")))["m"] == "1"

    @pytest.mark.parametrize("changes", [True, False])
    def test_a_commit_may_need_other_tables_to_be_unchanged(self, catalog: Catalog, changes: bool) -> None:
        first, second = create(catalog), create(catalog, OTHER)
        made = [TableCommit(ORDERS, first, changed(first, n="1"))] if changes else []
        catalog.commit_tables(made, [second])
        assert catalog.load_table(OTHER) == second
        first = catalog.load_table(ORDERS)
        assert ("n" in said_last(first)) == changes
        newer = catalog.commit(OTHER, second, changed(second, m="1"))
        again = [TableCommit(ORDERS, first, changed(first, n="2"))] if changes else []
        with refused(CommitConflict):
            catalog.commit_tables(again, [second])
        first = catalog.load_table(ORDERS)
        assert said_last(first).get("n") == ("1" if changes else None)
        again = [TableCommit(ORDERS, first, changed(first, n="2"))] if changes else []
        catalog.commit_tables(again, [newer])
        assert said_last(catalog.load_table(OTHER))["m"] == "1"
        catalog.drop_table(OTHER, purge=False)
        with pytest.raises((CommitConflict, NotFoundError)):
            catalog.commit_tables([], [newer])

    def test_several_tables_never_drift_apart(self, opener: Opener, catalog: Catalog) -> None:
        if not self.isolates_tables:
            pytest.skip("others may see, and change, one table of a commit before the other")
        for identifier in (ORDERS, OTHER):
            create(catalog, identifier)
        assert in_processes(RACERS, count_both_up, opener) == [TURNS] * RACERS
        for identifier in (ORDERS, OTHER):
            assert said_last(catalog.load_table(identifier))["counter"] == str(RACERS * TURNS)
