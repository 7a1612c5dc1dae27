package ddata

import "github.com/coterie-go/coterie/ddata/format"

// OfBuild has a node be of a build that speaks some levels.
func OfBuild(c Config, speaks format.Range) Config {
	c.build = speaks
	return c
}
