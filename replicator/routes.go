package replicator

// Routes says in which space each key lives. It never changes, and any number of goroutines may
// use it: a view that makes more keys durable brings another one.
type Routes struct{ durable patterns }

func newRoutes(lists ...[]string) *Routes {
	return &Routes{durable: newPatterns(lists...)}
}

// SpaceOf returns the space in which a key lives.
func (r *Routes) SpaceOf(key string) Space {
	if r.durable.match(key) {
		return Durable
	}
	return Volatile
}
