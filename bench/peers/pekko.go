package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/coterie-go/coterie/proptest/program"
)

// RequirePekko is the environment variable that makes it a failure that Pekko cannot be measured: 1 to require it.
const requirePekko = "COTERIE_REQUIRE_PEKKO"

// errNoJava: Java or Maven is missing.
var errNoJava = errors.New("java and mvn were not found; install them (packages openjdk-17-jdk-headless and maven of " +
	"Debian), or name them in COTERIE_JAVA_BIN and COTERIE_MVN_BIN")

// javaProgram and mavenProgram build and run the programs of Pekko.
var (
	javaProgram = program.Program{Names: []string{"java"}, Bin: "COTERIE_JAVA_BIN", Require: requirePekko,
		Missing: errNoJava}
	mavenProgram = program.Program{Names: []string{"mvn"}, Bin: "COTERIE_MVN_BIN", Require: requirePekko,
		Missing: errNoJava}
)

// javaFlags let the store of durable keys have memory outside of the heap. The heap and the collector are those that
// Java chooses for the machine.
var javaFlags = []string{
	"--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
	"-Dpekko.log-dead-letters=off", "-Dslf4j.internal.verbosity=ERROR",
}

// java is the built program of Pekko.
type java struct{ bin, classes string }

// buildPekko compiles the sources in the folder pekko. Maven brings what they need.
func buildPekko(ctx context.Context) (j java, err error) {
	bin, err := javaProgram.Find()
	if err != nil {
		return j, err
	}
	mvn, err := mavenProgram.Find()
	if err != nil {
		return j, err
	}
	dir, err := moduleDir(ctx)
	if err != nil {
		return j, err
	}
	dir = filepath.Join(dir, "pekko")
	list := filepath.Join(dir, "target", "classpath")
	build := exec.CommandContext(ctx, mvn, "-B", "-q", "compile", "dependency:build-classpath",
		"-Dmdep.outputFile="+list)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return j, fmt.Errorf("mvn does not build pekko: %w\n%s", err, out)
	}
	jars, err := os.ReadFile(list)
	if err != nil {
		return j, err
	}
	return java{bin, filepath.Join(dir, "target", "classes") + ":" + strings.TrimSpace(string(jars))}, nil
}

// command runs the program with the settings of a preset.
func (j java) command(preset string) func(context.Context, []string) *exec.Cmd {
	return func(ctx context.Context, words []string) *exec.Cmd {
		args := append([]string{"-cp", j.classes, "-Dpeers.preset=" + preset}, javaFlags...)
		return exec.CommandContext(ctx, j.bin, append(append(args, "peers.Main"), words...)...)
	}
}

// pekkoPeers are Pekko with its defaults, and with timers that are as short as those of Coterie's Preset Local where
// these count. If it was not built, they have words for all groups.
func pekkoPeers(j java, err error) []*peer {
	plain := &peer{name: "pekko", command: j.command("default")}
	tuned := &peer{name: "pekko-tuned", command: j.command("tuned"), only: []string{"failover", "pause"}}
	if err != nil {
		for _, p := range []*peer{plain, tuned} {
			p.lacks = map[string]string{}
			for _, g := range groups {
				p.lacks[g.name] = "not tried: " + err.Error()
			}
		}
	}
	return []*peer{plain, tuned}
}
