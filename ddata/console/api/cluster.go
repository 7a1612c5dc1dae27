package api

import "time"

// Bounds of what one answer has.
const (
	PageMax   = 1000 // shards
	EventsMax = 1000
	IDMax     = 1 << 10 // bytes of an entity's id
	ShardsMax = 1000    // that one action names
)

// Header is the header without which the console takes no POST: a page of another site cannot send
// it.
const Header = "X-Coterie-Console"

// AccessHeader is the header of every answer to a caller that may look: "read", or "operate" if it may
// act, too.
const AccessHeader = "X-Coterie-Access"

// Cluster is what the nodes say of the cluster and of themselves.
type Cluster struct {
	Name       string       `json:"name"`
	Asked      string       `json:"asked"` // uid of the node that answers
	At         time.Time    `json:"at"`
	View       View         `json:"view"`  // that the node has installed
	Nodes      []Node       `json:"nodes"` // that answered, in the order of View.Members
	Unanswered []Unanswered `json:"unanswered,omitempty"`
}

// View is one link of the chain of memberships.
type View struct {
	Cluster   string   `json:"cluster"` // its id
	Epoch     uint64   `json:"epoch"`
	Format    uint32   `json:"format"`  // level at which all members write
	Closing   bool     `json:"closing"` // the whole cluster shuts down
	VotersMax uint32   `json:"votersMax"`
	Members   []Member `json:"members"` // the oldest first, then those that are joining
	Durable   []string `json:"durable,omitempty"`
	Moving    []string `json:"moving,omitempty"` // keys that are becoming durable

	Retirement *Retirement `json:"retirement,omitempty"` // nil: the format level has none
}

// Retirement is what a view says of incarnations that are over.
type Retirement struct {
	Ended  string `json:"ended,omitempty"`  // those that have retired: below a bound, except so many
	Since  uint64 `json:"since,omitempty"`  // epoch of the view under which all members agreed on them
	Ending string `json:"ending,omitempty"` // those that retire now; empty: none do
	Came   uint32 `json:"came"`             // incarnations that have become members since a retirement began last
}

// Short is a uid as logs show it: its last eight digits.
func Short(uid string) string { return uid[max(0, len(uid)-8):] }

// Member is one node as a view lists it.
type Member struct {
	UID      string    `json:"uid"`
	Addr     string    `json:"addr"`
	Status   string    `json:"status"` // Joining, Up or Leaving
	Age      uint32    `json:"age"`    // lower is older; 0: it has none yet
	Voter    bool      `json:"voter"`
	Roles    []string  `json:"roles"`
	OldestOf []string  `json:"oldestOf,omitempty"` // roles
	Version  string    `json:"version,omitempty"`  // of the application
	Formats  [2]uint32 `json:"formats"`            // the lowest and the highest level that it speaks
}

// Unanswered is a node that gave no answer, and why.
type Unanswered struct {
	UID  string `json:"uid"`
	Addr string `json:"addr"`
	Why  string `json:"why"`
}

// Node is what one node says of itself.
type Node struct {
	UID         string    `json:"uid"`
	Addr        string    `json:"addr"`
	Epoch       uint64    `json:"epoch"` // of the view that it has installed
	At          time.Time `json:"at"`    // by its own clock
	Live        bool      `json:"live"`
	Ready       bool      `json:"ready"`
	Reasons     []string  `json:"reasons,omitempty"` // why not
	Lease       bool      `json:"lease"`             // it may run entities and singletons
	Alarms      []Alarm   `json:"alarms,omitempty"`  // by kind
	Unreachable []Silence `json:"unreachable,omitempty"`

	// RetirementWaits names the members for which the retirement that runs waits; only the node that leads says so.
	RetirementWaits string `json:"retirementWaits,omitempty"`

	Roles     []Role    `json:"roles"`
	Types     []Type    `json:"types,omitempty"` // entity types, by name
	Transport Transport `json:"transport"`
	Store     *Store    `json:"store,omitempty"` // nil: it keeps nothing on a disk
}

// Alarm counts the events of one kind that the log of a node has as warnings or errors, since its console was
// made. GET api/v1/runbook has the page of each kind that the library has.
type Alarm struct {
	Kind  string    `json:"kind"`
	Count uint64    `json:"count"`
	Last  time.Time `json:"last"` // when the last was, by the clock of the node
}

// Runbook is the page of an alarm: what it means, what causes it, what to do, and what shows it.
type Runbook struct {
	Alarm string `json:"alarm"` // as the page calls it
	Text  string `json:"text"`  // in Markdown
}

// Silence is a member that a node does not hear.
type Silence struct {
	UID   string    `json:"uid"`
	Since time.Time `json:"since"`
}

// Transport counts what the port of a node did since its start.
type Transport struct {
	Links    int               `json:"links"` // outgoing connections
	BytesIn  uint64            `json:"bytesIn"`
	BytesOut uint64            `json:"bytesOut"`
	Dropped  map[string]uint64 `json:"dropped,omitempty"` // frames, by reason
}

// Store is what lies on the disk of a node.
type Store struct {
	FileBytes   int64  `json:"fileBytes"`
	QueuedBytes int    `json:"queuedBytes"`
	Commits     uint64 `json:"commits"`
	Failed      uint64 `json:"failed"`
}

// Role is a node's replica of the data of one role.
type Role struct {
	Name         string `json:"name"`
	Data         string `json:"data"`     // "user", or "reserved": what extensions such as entity types keep
	Replicas     int    `json:"replicas"` // that its quorums count
	Silent       bool   `json:"silent"`   // its goroutine stands still: what follows is missing
	CaughtUp     bool   `json:"caughtUp"`
	Settled      uint64 `json:"settled"` // epoch of the newest view that is settled
	Pending      int    `json:"pending"` // operations under way
	Volatile     Space  `json:"volatile"`
	Durable      Space  `json:"durable"`
	Applied      uint64 `json:"applied"` // groups of others
	Repairs      uint64 `json:"repairs"`
	DigestAlarms uint64 `json:"digestAlarms"`
	StoreFailed  uint64 `json:"storeFailed"` // batches that the disk refused
	Lags         []Lag  `json:"lags,omitempty"`
}

// Space is what a replica holds in memory only, or on the disk too.
type Space struct {
	Keys         int    `json:"keys"`
	Items        int    `json:"items"`
	Bytes        int    `json:"bytes"`   // of the items, their keys aside, as they are encoded; estimated
	Events       uint64 `json:"events"`  // in its clock
	Origins      int    `json:"origins"` // whose events are in its clock
	Digest       string `json:"digest"`  // equal clocks have equal ones
	LogEvents    int    `json:"logEvents"`
	WaitingBytes int    `json:"waitingBytes"` // own writes that not all members have
}

// Lag is how far another member is behind with what a replica has written.
type Lag struct {
	UID    string `json:"uid"`
	Events uint64 `json:"events"`
}

// Error is the answer when there is no other.
type Error struct {
	Code string `json:"code"` // see the constants
	Text string `json:"text"` // what is wrong and what to do, in words
}

// Codes of an Error.
const (
	CodeRefused   = "refused"     // the caller may not do this
	CodeBad       = "bad-request" // the request makes no sense
	CodeNotFound  = "not-found"
	CodeBusy      = "busy" // too many questions at one time: ask again
	CodeFailed    = "failed"
	CodeForgeable = "forgeable" // a POST without Header, or from a page of another site
)
