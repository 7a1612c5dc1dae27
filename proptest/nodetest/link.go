package nodetest

import "encoding/json"

// variable names the program in the environment of a process.
const variable = "COTERIE_NODETEST_PROGRAM"

// setup is the name of the first call. Its value is that of Start, and its answer says that the
// program has begun.
const setup = "setup"

// request is one call.
type request struct {
	ID   uint64          `json:"id"`
	Name string          `json:"name"`
	In   json.RawMessage `json:"in"`
}

// answer ends the call of that ID.
type answer struct {
	ID    uint64          `json:"id"`
	Out   json.RawMessage `json:"out,omitempty"`
	Error string          `json:"error,omitempty"`
}
