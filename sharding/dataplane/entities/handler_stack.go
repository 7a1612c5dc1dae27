package entities

import (
	"path"
	"strings"

	"github.com/coterie-go/coterie/sharding/dataplane/pool"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// handlerIn finds the user's handler in the stack of a worker: the function that this package has
// called. It returns its name and the line where it stands.
func handlerIn(stack string) string {
	lines := strings.Split(stack, "\n")
	user := ""
	for i := 1; i+1 < len(lines); i += 2 {
		if callsHandler(lines[i]) {
			return user
		}
		name, line := lines[i], strings.TrimSpace(lines[i+1])
		if at := strings.LastIndexByte(name, '('); at > 0 {
			name = name[:at]
		}
		line, _, _ = strings.Cut(line, " +0x")
		user = path.Base(name) + " at " + path.Base(line)
	}
	return ""
}

// callsHandler reports whether a frame is that of this package's that calls the user's code.
func callsHandler(frame string) bool {
	_, method, is := strings.Cut(frame, "/sharding.(*Context[...]).")
	if is {
		return strings.HasPrefix(method, "receive(") || strings.HasPrefix(method, "carry(") ||
			strings.HasPrefix(method, "stop(") || strings.HasPrefix(method, "proceed(")
	}
	return strings.Contains(frame, "/sharding.") && strings.Contains(frame, ".incarnate.func")
}

// noteSlow has the control plane note a handler that does not return.
func (r *Runtime) noteSlow(slow pool.SlowTask[*Entity]) {
	e := slow.Task
	r.control.Note(protocol.Event{
		Kind: protocol.HandlerSlow, Shard: protocol.ShardID(e.Shard.Number), Entity: protocol.EntityID(e.ID),
		Took: slow.Age, Text: slow.Where, Stack: slow.Stack,
	})
}
