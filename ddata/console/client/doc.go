// Package client asks the console of a node, as the command coterie does.
//
//	c := client.Client{URL: "https://shop.example/coterie/", Token: token}
//	cluster, err := c.Cluster(ctx)
//
// An answer may be partial: its field Unanswered names the nodes that are missing.
package client
