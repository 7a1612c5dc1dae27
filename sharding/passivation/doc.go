// Package passivation picks the entities of a shard that are passivated when more are active than
// shall be.
//
// # Nouns
//
//   - A Strategy is what users write down: an idle time-out, a limit on active entities, and which
//     entity goes when the limit is reached.
//   - A Policy is what a strategy with a limit makes of one shard. It knows the shard's active
//     entities by Slot, is told of every access, and answers which entities must be passivated. It
//     has no clock: its owner keeps the idle time-out.
//   - An area is a part of the active entities with an order of its own in which they go: the main
//     area, and with an admission window the window.
//
// # Orders
//
//   - LeastRecentlyUsed, in levels if Levels says so (Karedla, Love, Wherry: Caching Strategies to
//     Improve Disk System Performance, 1994). An entity starts in the lowest level. Each further
//     access lifts it one level up. What a full level has no room for sinks to the one below. Only
//     the lowest loses entities. A scan passes through the lowest level and leaves the others
//     alone.
//   - MostRecentlyUsed, for loops: the ones that were used last are needed again last.
//   - LeastFrequentlyUsed, and among equals the least recently used. With DynamicAging (Arlitt,
//     Cherkasova, Dilley, Friedrich, Jin: Evaluating Content Management Techniques for Web Proxy
//     Caches, 1999) an access raises an entity's count by the count of the entity that went last.
//     So what was popular once goes in the end.
//
// # Admission
//
// With an Admission the main area takes only entities that are worth it (Einziger, Friedman, Manes:
// TinyLFU, 2017; Einziger, Eytan, Friedman, Manes: Adaptive Software Cache Management, 2018). A new
// entity enters the window. An entity that falls out of the window is the candidate. It enters a
// full main area only if the frequency sketch has seen it more often than the entity that would go
// for it. If not, the candidate is passivated. The sketch is a count-min sketch with small counters
// that are halved now and then. The hill climber grows or shrinks the window as long as more
// accesses meet active entities than before, and turns when fewer do.
//
// # Costs
//
// An access takes a constant time, with LeastFrequentlyUsed one that grows with the logarithm of
// the number of entities. A new limit takes time for each entity that has to go. An entity takes 24
// bytes, 28 more in an order by frequency. The sketch takes 8 to 16 bytes per entity of the limit
// with the default settings. The first access under that limit makes it.
package passivation
