package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/doctor/command"
	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
)

// run runs the command line, and returns what it has said.
func run(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	var out, problems strings.Builder
	code = command.Run(t.Context(), args, &out, &problems)
	return code, out.String() + problems.String()
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	f := pkitest.NewAuthority(t).Issue(dir, pkitest.Node{Names: []string{"shop-nodes"}})
	for from, to := range map[string]string{f.Cert: "tls.crt", f.Key: "tls.key",
		f.CA: "ca.crt"} { // order: each by itself
		if err := os.Rename(from, filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	kit := filepath.Join("..", "..", "..", "examples", "kubernetes", "manifests")
	shop, set := filepath.Join(kit, "shop.yaml"), filepath.Join(kit, "statefulset.yaml")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-leave", "25s", "-drain", "5s", "-founders", "3", shop, set}, command.Sound, ""},
		{[]string{"-leave", "50s", shop, set}, command.Broken, "it is killed while it hands over"},
		{[]string{"-dir", dir}, command.Sound, ""},
		{[]string{"-tls", dir, "-tls-name", "shop-nodes"}, command.Sound, ""},
		{[]string{"-tls", dir, "-tls-name", "other"}, command.Broken, "the other nodes would refuse"},
		{[]string{"-tls", t.TempDir()}, command.Broken, "error    TLS: pki: Files.Cert"},
		{[]string{"-bind", "192.0.2.1:1"}, command.Broken, "nothing can listen there"},
		{[]string{"-dns", "name.invalid.", "-port", "7946"}, command.Broken, "Config.Discovery"},
		{[]string{"-dns", "name.invalid.", "-port", "70000"}, command.Misuse, "-port 70000"},
		{[]string{"-dns", "a b", "-port", "1"}, command.Misuse, "is not a name"},
		{[]string{"-json", "-leave", "50s", shop, set}, command.Broken,
			`"severity":"error","setting":"StatefulSet shop: `},
		{[]string{"missing.yaml"}, command.Misuse, "missing.yaml"},
		{[]string{"-unknown"}, command.Misuse, "usage: doctor"},
		{[]string{"-help"}, command.Sound, "usage: doctor"},
		{nil, command.Misuse, "name manifests, or what to look at"},
	} {
		code, said := run(t, c.args...)
		dns := len(c.args) > 0 && c.args[0] == "-dns" && c.code == command.Broken
		if dns && code == command.Sound && strings.Contains(said, "it names no node") {
			continue // a machine with a name server says that there is no such name
		}
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%q: %d %s; want %d %q", c.args, code, said, c.code, c.want)
		}
	}
}
