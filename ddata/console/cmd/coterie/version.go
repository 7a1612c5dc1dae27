package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"runtime/debug"

	"github.com/coterie-go/coterie/ddata/format"
)

// versionCommand says which build the command is, for nodes whose formats it must know.
func versionCommand(*flag.FlagSet) task {
	return func(_ context.Context, c stdio, _ []string) error {
		version, revision, goVersion := "", "", ""
		if b, ok := debug.ReadBuildInfo(); ok {
			version, goVersion = b.Main.Version, b.GoVersion
			for _, s := range b.Settings {
				if s.Key == "vcs.revision" {
					revision = " " + s.Value
				}
			}
		}
		spoken := format.Build()
		_, err := fmt.Fprintf(c.out, "coterie %s%s, %s, formats %d to %d\n", cmp.Or(version, "(devel)"), revision,
			goVersion, spoken.Min, spoken.Max)
		return err
	}
}
