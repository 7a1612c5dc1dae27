package api

import "time"

// Type is what one node says of an entity type.
type Type struct {
	Name         string `json:"name"`
	Role         string `json:"role"`
	Proxy        bool   `json:"proxy"`                 // it never hosts
	Shards       int    `json:"shards"`                // that the type has
	Coordinator  string `json:"coordinator,omitempty"` // uid of the node that has it; empty: none is known
	Coordinating bool   `json:"coordinating"`          // it is here, and acts
	Registered   bool   `json:"registered"`            // with the coordinator
	Why          string `json:"why,omitempty"`         // not, and what to do
	Remembers    bool   `json:"remembers"`
	Movable      bool   `json:"movable"`         // its strategy heeds where an operator wants a shard
	Drain        *Drain `json:"drain,omitempty"` // nil: the node hands over what the balance wants only

	Hosted   int     `json:"hosted"`   // shards
	Awaiting int     `json:"awaiting"` // of these, those that wait for a lease
	Entities int     `json:"entities"` // active, starting or stopping
	Active   int     `json:"active"`
	Limit    int     `json:"limit"` // on active entities; 0: none
	Waiting  Waiting `json:"waiting"`
	Work     Work    `json:"work"`

	Passivated map[string]uint64 `json:"passivated,omitempty"` // by cause
	Forced     uint64            `json:"forced"`               // passivations
	Dropped    map[string]uint64 `json:"dropped,omitempty"`    // messages, by reason
	LeasesLost uint64            `json:"leasesLost"`
	Alarms     map[string]uint64 `json:"alarms,omitempty"` // by kind, since the start
	Moves      Moves             `json:"moves"`
	Reminders  *Reminders        `json:"reminders,omitempty"` // nil: its entities set none here
}

// Drain is how far a node is that hands over all shards of a type: because an operator wants it, or because
// the node leaves. Type.Hosted counts the shards that are left.
type Drain struct {
	Since time.Time `json:"since"`         // by the clock of the node
	Done  bool      `json:"done"`          // it hosts none, until the type or the node is started again
	Why   string    `json:"why,omitempty"` // in words: what the rest waits for
}

// Waiting is what waits on a node.
type Waiting struct {
	Buffered      int   `json:"buffered"` // messages, for a home
	BufferedBytes int64 `json:"bufferedBytes"`
	MailboxBytes  int   `json:"mailboxBytes"` // of messages of other nodes
	Queued        int   `json:"queued"`       // entities, for a worker
	Results       int   `json:"results"`      // entities, for results
	Overdue       int   `json:"overdue"`      // of these, those that wait for long
	Asks          int   `json:"asks"`         // questions from here, for their answers
}

// Work is what is done on a node, and was since its start.
type Work struct {
	Workers      int    `json:"workers"` // goroutines
	Slow         int    `json:"slow"`    // handlers that run for long
	Handled      uint64 `json:"handled"` // messages; 0 without ddata.Config.Meter
	AsksTimedOut uint64 `json:"asksTimedOut"`
	Restored     uint64 `json:"restored"` // entities, started because they are remembered
	Panics       uint64 `json:"panics"`   // of the type's codecs, hooks and stores, which were survived
}

// Moves are those that a node's coordinator has seen end since the start, and that it knows to be under way.
type Moves struct {
	UnderWay   int    `json:"underWay"` // shards; 0 where the coordinator does not act
	Done       uint64 `json:"done"`
	Aborted    uint64 `json:"aborted"`
	LastMillis int64  `json:"lastMillis"` // time without a home of the last one
	MaxMillis  int64  `json:"maxMillis"`
}

// Reminders counts those that a node has handled.
type Reminders struct {
	Fired    uint64 `json:"fired"`
	Handled  uint64 `json:"handled"`
	Failed   uint64 `json:"failed"`
	UnderWay int64  `json:"underWay"`
}

// Shards is a page of the shards of a type.
type Shards struct {
	Type       string       `json:"type"`
	Total      int          `json:"total"` // that the type has
	From       int          `json:"from"`
	Shards     []Shard      `json:"shards"`
	Unanswered []Unanswered `json:"unanswered,omitempty"` // nodes whose counts are missing
}

// Shard is where one shard is.
type Shard struct {
	Shard    int     `json:"shard"`
	Node     string  `json:"node,omitempty"` // uid; empty: its home is unknown or moving
	Entities int     `json:"entities"`
	Active   int     `json:"active"`
	Waits    string  `json:"waits,omitempty"`  // why it does not start
	Buffered int     `json:"buffered"`         // messages that wait for it, on the nodes that answered
	Moving   *Moving `json:"moving,omitempty"` // nil: it does not move, or the coordinator's node gave no answer
}

// Moving is a shard on its way from one home to the next.
type Moving struct {
	From string `json:"from,omitempty"` // uid; empty: not known
	To   string `json:"to,omitempty"`   // uid; empty: it is not decided before the old home has stopped the shard
	// Phase is "fencing" while nodes stop to send to the old home, "stopping" while that stops the shard, "wanted" or
	// "unallocated" while it has no home, "writing" while the next is recorded, "hosting" while that starts the shard.
	Phase  string     `json:"phase"`
	Awaits int        `json:"awaits,omitempty"` // fencing: nodes that have not answered
	Since  *time.Time `json:"since,omitempty"`  // nil: since before the coordinator acted
}

// Entity is what is known of one entity.
type Entity struct {
	Type        string        `json:"type"`
	ID          string        `json:"id"`
	Shard       int           `json:"shard"`          // -1: unknown, for no node that answered has started the type
	Node        string        `json:"node,omitempty"` // uid; empty: its home is unknown or moving
	Addr        string        `json:"addr,omitempty"`
	Active      bool          `json:"active"`
	Waiting     int           `json:"waiting"`            // messages in its mailbox
	Doing       string        `json:"doing,omitempty"`    // in words: what it runs or waits for
	NotFound    string        `json:"notFound,omitempty"` // in words: why no node is known to host its shard
	Why         string        `json:"why,omitempty"`      // in words: its passivations, and what would make it go
	Passivated  []Passivation `json:"passivated,omitempty"`
	IdleMillis  int64         `json:"idleMillis"`
	IdleTimeout int64         `json:"idleTimeoutMillis"`
	Unanswered  []Unanswered  `json:"unanswered,omitempty"`
}

// Passivation is one that the entity's node remembers.
type Passivation struct {
	At    time.Time `json:"at"`
	Cause string    `json:"cause"`
	Text  string    `json:"text"`
}
