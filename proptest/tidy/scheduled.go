package tidy

import (
	"bytes"
	"go/ast"
	"go/token"
	"slices"
)

// scheduledPackages run on a scheduler.Scheduler: in production on goroutines, in a simulation on
// one flow of control.
var scheduledPackages = []string{"ddata/runloop", "ddata/singletons", "sharding", "sharding/control",
	"sharding/dataplane",
	"sharding/dataplane/asks", "sharding/dataplane/entities", "sharding/dataplane/lease",
	"sharding/dataplane/mailbox", "sharding/dataplane/pool", "sharding/dataplane/routes",
	"sharding/delivery", "sharding/durablestate", "sharding/eventsourced", "sharding/failure", "sharding/ledger",
	"sharding/persistence/batch", "sharding/persistence/history", "sharding/persistence/incarnation",
	"sharding/remember/journaled"}

// schedulerMark is the comment that allows what goes around the scheduler, on its line or the one
// above, followed by the reason.
const schedulerMark = "// scheduler: "

// unscheduledNames are the names by which a package reads the clock of the process, waits, or has
// something run, by the import path of their package.
var unscheduledNames = map[string][]string{
	"time":    clockNames,
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "AfterFunc"},
	"sync":    {"WaitGroup", "Cond", "NewCond"},
	"runtime": {"Gosched"},
}

// isScheduled reports whether the package in dir runs on a scheduler.
func isScheduled(dir string) bool { return slices.Contains(scheduledPackages, dir) }

func checkScheduled(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		if !isScheduled(p.Dir) {
			continue
		}
		for _, f := range p.Files {
			out = append(out, m.unscheduled(f)...)
		}
	}
	return sorted(out)
}

// unscheduled finds what goes around the scheduler in one file. What a select with a default does
// not wait for is allowed.
func (m *Module) unscheduled(f *File) []Finding {
	var out []Finding
	lines := bytes.Split(f.Src, []byte("\n"))
	report := func(n ast.Node, format string, args ...any) {
		if line := m.Fset.Position(n.Pos()).Line; !marked(lines, line, schedulerMark) {
			out = append(out, m.at(n.Pos(), "scheduled", format, args...))
		}
	}
	names, never := f.imports(), map[ast.Node]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "go statement")
		case *ast.SelectStmt:
			if !hasDefault(n) {
				report(n, "select that waits")
			}
			for _, c := range n.Body.List { // the select was looked at as a whole
				if comm := c.(*ast.CommClause).Comm; comm != nil {
					ast.Inspect(comm, func(x ast.Node) bool {
						never[x] = x != nil && isReceive(x)
						return true
					})
				}
			}
		case *ast.UnaryExpr:
			if isReceive(n) && !never[n] {
				report(n, "receive that waits")
			}
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			path := names[id.Name]
			random := path == "math/rand/v2" && !slices.Contains(randNames, n.Sel.Name)
			if random || slices.Contains(unscheduledNames[path], n.Sel.Name) {
				report(n, "%s.%s", id.Name, n.Sel.Name)
			}
		}
		return true
	})
	return out
}

func isReceive(n ast.Node) bool {
	u, ok := n.(*ast.UnaryExpr)
	return ok && u.Op == token.ARROW
}

// hasDefault reports whether a select never waits.
func hasDefault(s *ast.SelectStmt) bool {
	return slices.ContainsFunc(s.Body.List, func(c ast.Stmt) bool { return c.(*ast.CommClause).Comm == nil })
}
