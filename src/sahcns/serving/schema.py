"""What can be asked of the service, and what it answers: the schemas of its OpenAPI document."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sahcns.lab.inspect.results import PairView

MOST_K = 1000  # so that one request cannot ask for the whole catalogue
MOST_IDS = 10_000
MOST_ROWS = 200_000  # of all lists in one answer: some 15 MB
MOST_EXPLAINED = 100
MOST_REASONS = 100_000  # explained items times the reasons told and the items that somebody new has

Text = Annotated[str, Field(max_length=1000)]
Ids = Annotated[list[Text], Field(max_length=MOST_IDS)]


class ToModel(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    model: Annotated[Text | None, Field(description="which of several models; the first unless given")] = None


class Asked(ToModel):
    """What every list can be asked with."""

    k: Annotated[int, Field(ge=1, le=MOST_K, description="items in a list")] = 20
    without: Annotated[Ids, Field(description="items not to be shown, such as those out of stock")] = []
    only: Annotated[Ids, Field(description="items that may be shown, such as those of one shop; all unless given")] = []
    category: Annotated[list[Text], Field(max_length=100, description="items of one of these; all unless given")] = []


class ForUsers(Asked):
    user: Annotated[Ids, Field(min_length=1, description="ids of users, as in the data")]
    exclude: Annotated[
        Literal["known", "train", "nothing"],
        Field(description="leave out all that a user has, what the model was trained on, or nothing"),
    ] = "known"


class ForItems(Asked):
    item: Annotated[Ids, Field(min_length=1, description="ids of the items that somebody has")]


class ForItem(Asked):
    item: Annotated[Text, Field(description="id of an item")]


class ForText(ToModel):
    q: Annotated[str, Field(max_length=1000, description="some letters of an id or a title; none for a first look")] = (
        ""
    )
    k: Annotated[int, Field(ge=1, le=100, description="of people and of items")] = 8


class ForPerson(ToModel):
    user: Annotated[Text, Field(description="id of a user, as in the data")]
    k: Annotated[int, Field(ge=1, le=MOST_K, description="items at most")] = 100


class ToExplain(ToModel):
    item: Annotated[list[Text], Field(min_length=1, max_length=MOST_EXPLAINED, description="items to be explained")]
    k: Annotated[int, Field(ge=1, le=MOST_K, description="reasons for each item")] = 5


class ForReasons(ToExplain):
    user: Annotated[Text, Field(description="somebody of the data")]


class ForNewReasons(ToExplain):
    having: Annotated[Ids, Field(min_length=1, description="ids of the items that somebody has")]


class ForPair(ToModel):
    user: Annotated[Text | None, Field(description="somebody of the data; one is drawn unless given")] = None
    item: Annotated[Text | None, Field(description="a training item of theirs; one is drawn unless given")] = None
    alpha: Annotated[float, Field(ge=0, le=100, description="weight α of the cross-layer discrepancy")] = 0.3
    lambda_max: Annotated[float, Field(ge=0, le=1, description="largest share λmax of the positive")] = 0.5
    pool: Annotated[int, Field(ge=1, le=1000, description="candidates N")] = 10
    seed: Annotated[int, Field(ge=0, le=2**31, description="of the pool, and of the pair where none is given")] = 0


class Problem(BaseModel):
    error: str


class Titled(BaseModel):
    item: str | int
    title: str | None


class Item(Titled):
    rank: int
    score: float


class ItemList(BaseModel):
    items: list[Item]


class UserList(ItemList):
    user: str | int
    source: Literal["model", "fold-in", "popular"]


class UserLists(BaseModel):
    users: list[UserList]
    unknown: Annotated[list[str], Field(description="users whom the model does not know")]


class NewList(ItemList):
    source: Literal["fold-in"]
    unknown: Annotated[list[str], Field(description="items that the model does not know")]


class KnownItem(Titled):
    category: str | None
    people: Annotated[int, Field(description="who have it")]


class KnownUser(BaseModel):
    user: str | int
    items: Annotated[int, Field(description="how many they have")]


class Found(BaseModel):
    users: list[KnownUser]
    items: list[KnownItem]


class Person(BaseModel):
    user: str | int
    count: Annotated[int, Field(description="how many items they have, shown here or not")]
    items: list[KnownItem]


class Why(Titled):
    part: Annotated[float, Field(description="how much of the score it brings")]
    paths: Annotated[list[float], Field(description="the same by the length of the path, from 1")]


class Explained(Titled):
    score: float
    own: Annotated[float, Field(description="what the person's own vector brings, which belongs to no item")]
    others: Annotated[float, Field(description="what all reasons that are not shown bring together")]
    exact: Annotated[bool, Field(description="whether own, reasons and others add up to the score by the model itself")]
    reasons: list[Why]


class Explanations(BaseModel):
    explanations: list[Explained]


class Pair(BaseModel):
    pair: PairView
    layers: list[str]
    positives: Annotated[list[Titled], Field(description="training items of the user")]


class Category(BaseModel):
    category: str
    items: int


class Categories(BaseModel):
    categories: list[Category]


class Health(BaseModel):
    model_config = ConfigDict(protected_namespaces=())

    models: list[dict[str, Any]]
    version: str
