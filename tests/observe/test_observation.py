import numpy as np
import pytest

from headcount.errors import UserError
from headcount.observe.found import Links, Maps
from headcount.observe.observation import Observation


@pytest.fixture
def observation():
    return Observation(
        attention=np.array(["encoder", "encoder", "decoder_self"]),
        layer=np.array([0, 0, 1]),
        head=np.array([0, 3, 2]),
        confidence=np.array([0.5, np.nan, 0.25]),
        confidence_with_eos=np.array([0.5, 0.75, 0.25]),
        entropy=np.array([0.1, 0.2, 0.3]),
        density=np.array([1.0, 0.5, 0.25]),
        density_sd=np.array([0.0, 0.1, 0.2]),
        alpha=np.full(3, np.nan),
        density_histogram=np.arange(45).reshape(3, 15),
        layer_attention=np.array(["encoder", "decoder_self"]),
        layer_index=np.array([0, 1]),
        diversity=np.array([0.4, np.nan]),
        sentences=np.array(7),
        links=Links(
            kind=np.array(["rare", "rare"]),
            role=np.array(["rare-2", "rare-2"]),
            labels=np.array(["gold", "shuffled"]),
            hits=np.arange(6).reshape(3, 2),
            cases=np.full((3, 2), 6),
            baseline=np.full((3, 2), 0.25),
            measure=np.array(["merging"]),
            weight=np.array([[0.5], [np.nan], [np.nan]]),
            coverage=np.array(["sentences"]),
            covered=np.array([7]),
        ),
        maps=Maps(
            sentence=np.array([4]),
            source=np.array([["▁a", "</s>"]]),
            target=np.array([["<s>"]]),
            encoder=np.full((2, 1, 2, 2), 0.5),
            decoder_cross=np.empty((0, 1, 1, 2)),
        ),
    )


def without_parts(observation):
    return {name: value for name, value in vars(observation).items() if name not in ("links", "maps")}


def test_saved_and_loaded_is_the_same(observation, tmp_path):
    observation.save(tmp_path / "observation.npz")
    loaded = Observation.load(tmp_path / "observation.npz")
    for saved, read in ((observation, loaded), (observation.links, loaded.links), (observation.maps, loaded.maps)):
        for name, value in vars(saved).items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(getattr(read, name), value, strict=True)
    assert len(vars(loaded.links)) == 10


def test_an_unlabelled_corpus_has_links_and_maps_of_nothing(observation, tmp_path):
    bare = Observation(**without_parts(observation))
    bare.save(tmp_path / "observation.npz")
    loaded = Observation.load(tmp_path / "observation.npz")
    assert loaded.links.hits.size == loaded.maps.encoder.size == 0


def test_a_saved_file_is_the_only_one(observation, tmp_path):
    observation.save(tmp_path / "observation.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["observation.npz"]


def test_a_missing_or_damaged_file_is_named(observation, tmp_path):
    path = tmp_path / "observation.npz"
    with pytest.raises(UserError, match="headcount record"):
        Observation.load(path)
    observation.save(path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:-30], b"no zip file at all"):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"observation\.npz"):
            Observation.load(path)
    np.savez(path, unrelated=np.zeros(2))
    with pytest.raises(UserError, match=r"observation\.npz"):
        Observation.load(path)


def test_table_is_tidy_and_leaves_out_what_is_not_defined(observation):
    table = observation.to_table()
    assert list(table.columns) == ["attention", "layer", "head", "measure", "value"]
    assert not table["value"].isna().any()
    keys = ["attention", "layer", "head", "measure"]
    assert not table.duplicated(keys).any()
    rows = table.set_index(keys)["value"]
    assert rows["encoder", 0, 3, "confidence_with_eos"] == 0.75
    assert ("encoder", 0, 3, "confidence") not in rows.index
    assert rows["decoder_self", 1, 2, "density_bin_15"] == 44
    diversity = table[table["measure"] == "diversity"]
    assert diversity["value"].tolist() == [0.4]
    assert diversity["head"].isna().all()
    assert "alpha" not in set(table["measure"])
