// Package console shows a cluster to its operators, and lets them steer it: a JSON API and one page,
// as an http.Handler that a user mounts in a server of its own.
//
//	tokens := console.Tokens{Read: os.Getenv("LOOK"), Operate: os.Getenv("STEER")}
//	http.Handle("/coterie/", console.Handler(node, console.Config{Authorize: tokens.Authorize}))
//
// Nothing listens unless it is mounted. What package sharding has started on the node is shown without
// more.
//
// # Nouns
//
//   - The console of a node is its Handler. It asks the other nodes too, so one is enough to see all.
//   - A node answers the consoles of others after Handler or Answer was called on it.
//   - Access is what a caller may do: nothing, look, or act. Config.Authorize says it of each request, with
//     the name of its maker.
//   - Package api is the schema: paths, answers, actions, errors. Command cmd/coterie is its client for
//     people and scripts, package client that for programs.
//
// # Guarantees
//
//   - Without Config.Authorize every request is refused, the page's too. A stranger sees nothing of
//     the cluster, not even its name.
//   - Only a caller with Operate acts, and only by a request that a page of another site cannot make:
//     see api.Header. Which of its actions other nodes can refuse: see Trust.
//   - The other nodes are asked in the bulk lane, whose frames hold up neither heartbeats nor messages
//     of entities. An answer serves all that ask within a second. A few questions are under way at one
//     time, and a few requests: a caller above that is told to come again. Answers are bounded; the
//     shards of a type come in pages.
//   - A node that hangs costs an answer at most Config.NodeTimeout. The answer then names it, and has
//     what the others said.
//   - Every action is an event (Acted) that names its caller, and so in the log of the node that it was asked of,
//     and in the timeline. So is an attempt that was refused; of these, ten a minute, and one an hour of
//     strangers.
//   - The page loads nothing from elsewhere, runs no script but its own, and shows what comes from a
//     cluster as text only.
//
// # Not guaranteed
//
//   - An answer is of one moment per node, up to a second old. What it says may have changed.
//   - The timeline has the last Config.Events events of each node since its console was made. It is
//     no log.
//   - Latencies, and what waits for journals and projections, are metrics: the console has them of nodes
//     whose ddata.Config.Meter is one of package ddata/events/recent, which may stand before another.
//
// # The page
//
// Each alarm on it opens its page of package runbook: what it means, what causes it, what to do.
// It asks every two seconds, while it can be seen. It is for phones, desktops and keyboards; the key ?
// lists the keys. The test in browser has taken these pictures of it:
//
//   - docs/light.png, docs/dark.png: three nodes, of which one was killed
//   - docs/phone.png: the same on a phone
//
// The file design.md says what one node does because the console of another asks for it.
package console
