package protocol

import "fmt"

// RouteState says what a region does with a message for a shard.
type RouteState uint8

// States of a route.
const (
	RouteUnknown  RouteState = iota // buffer: the home is not known
	RouteMoving                     // buffer: a hand-off is in progress
	RouteRemote                     // send to Home
	RouteStarting                   // buffer: the home is here, but not ready
	RouteLocal                      // deliver here
	RouteDraining                   // own senders buffer, what the lanes bring is delivered here
)

var routeNames = [...]string{"unknown", "moving", "remote", "starting", "local", "draining"}

func (s RouteState) String() string {
	if int(s) < len(routeNames) {
		return routeNames[s]
	}
	return fmt.Sprintf("RouteState(%d)", uint8(s))
}

// Buffers reports whether a message of this node's own senders is put into the shard's buffer.
func (s RouteState) Buffers() bool { return s != RouteRemote && s != RouteLocal }

// Route is where a region sends the messages for a shard.
type Route struct {
	State   RouteState
	Home    UID   // of RouteRemote
	Token   Token // of the table entry or command that the route follows
	HandOff Token // of RouteMoving and RouteDraining
}

func (r Route) String() string {
	switch r.State {
	case RouteUnknown:
		return r.State.String()
	case RouteRemote:
		return fmt.Sprintf("remote %v@%v", r.Home, r.Token)
	case RouteMoving, RouteDraining:
		return fmt.Sprintf("%v %v", r.State, r.HandOff)
	}
	return fmt.Sprintf("%v@%v", r.State, r.Token)
}
