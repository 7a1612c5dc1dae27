package ddata

import "github.com/coterie-go/coterie/ddata/format"

// Retiring has a node let incarnations that are over retire when so many have come.
func Retiring(c Config, after int) Config {
	c.retireAfter = after
	return c
}

// OfBuild has a node be of a build that speaks some levels.
func OfBuild(c Config, speaks format.Range) Config {
	c.build = speaks
	return c
}
