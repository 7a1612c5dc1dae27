package api

import "time"

// Events are the latest of all nodes, the oldest first.
type Events struct {
	Events     []Event      `json:"events"`
	Unanswered []Unanswered `json:"unanswered,omitempty"`
}

// Event is one thing that a node has told, as its log has it.
type Event struct {
	Node  string    `json:"node"` // uid
	Seq   uint64    `json:"seq"`  // numbers the events of the node
	At    time.Time `json:"at"`   // by the clock of the node
	Level string    `json:"level"`
	Kind  string    `json:"kind"`
	Text  string    `json:"text"`
}
