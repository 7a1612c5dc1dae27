package api

// Action is something to do. Do says what; the other fields are those that it needs. Another field is refused.
type Action struct {
	Do     string `json:"do"`
	Node   string `json:"node,omitempty"`   // that it is about, or that does it; of DoLimit, empty: the one that is asked
	Type   string `json:"type,omitempty"`   // entity type
	Shards []int  `json:"shards,omitempty"` // numbers
	Entity string `json:"entity,omitempty"` // id
	Limit  int    `json:"limit,omitempty"`
}

// What can be done.
const (
	DoDown       = "down"             // Node is gone for good: the members decide on a view without it
	DoLeave      = "leave"            // Node leaves the cluster, and ends
	DoPrepare    = "prepare-shutdown" // the whole cluster is about to be stopped: nothing is handed over any more
	DoRebalance  = "rebalance"        // the coordinator of Type looks at the balance now
	DoMove       = "move"             // Shards of Type, which has allocation.External, shall live on Node
	DoStopShards = "stop-shards"      // Shards of Type stop, until a message asks for them
	DoPassivate  = "passivate"        // Entity of Type ends its incarnation
	DoLimit      = "limit"            // Limit is how many entities of Type may be active on Node
	DoDrain      = "drain"            // Node begins to hand the shards of Type, or of all, over, and stays; see Drain
)

// Actions are all of them, in the order in which a person looks for them.
var Actions = []string{
	DoDown, DoLeave, DoDrain, DoPrepare, DoRebalance, DoMove, DoStopShards, DoPassivate, DoLimit,
}

// Result says what an action has done, or what was begun.
type Result struct {
	Text string `json:"text"`
}

// Path is one line of what GET api/v1 lists.
type Path struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Text   string `json:"text"`
}

// Paths are what the API has.
var Paths = []Path{
	{"GET", "api/v1/cluster", "the view, and what each node says of itself"},
	{"GET", "api/v1/node", "what the node that is asked says of itself"},
	{"GET", "api/v1/shards?type=T&from=N&limit=N", "where the shards of an entity type are, page by page"},
	{"GET", "api/v1/entity?type=T&id=ID", "where an entity is, why it was passivated, what waits"},
	{"GET", "api/v1/metrics", "what took how long in the last minute, and what waits for journals"},
	{"GET", "api/v1/events?limit=N", "the latest events of all nodes"},
	{"GET", "api/v1/runbook?alarm=NAME", "the page of an alarm: its meaning, its cause, what to do"},
	{"POST", "api/v1/actions", "do something; see type Action of package api"},
}
