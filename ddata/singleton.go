package ddata

import "github.com/coterie-go/coterie/ddata/singletons"

// SingletonState is how far a Singleton of this node is; it prints itself.
type SingletonState = singletons.State

// FencingToken belongs to one run of a singleton: each has a higher one than all before it, on
// whatever node. See package ddata/membership/singleton for its order, and for what happens to it when a
// cluster is founded without the directories of the former one.
type FencingToken = singletons.FencingToken

// SingletonConfig says what is to run on one node at a time. All nodes of the role run a Singleton
// of that name.
type SingletonConfig = singletons.Config

// Singleton is this node's part in running something once in the cluster. Node.RunSingleton makes
// one; it ends with the node.
type Singleton = singletons.Singleton

// RunSingleton has cfg.Run run on the oldest node of a role and nowhere else: at no instant on two
// nodes that hold their leases. After a crash it starts on the next in age with the view without
// the dead node; a node that leaves hands over as soon as Run has returned.
//
// Errors: a faulty cfg, ErrUnknownRole, a name that is in use on this node, why the node has ended.
func (n *Node) RunSingleton(cfg SingletonConfig) (*Singleton, error) {
	return singletons.Of(n.Host()).Run(cfg)
}
