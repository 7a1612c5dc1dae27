// Package direct calls the stores of package persistence on behalf of entities, which do not wait: a
// [Client] takes what an entity wants, and answers by a function when it is done. Each of its calls
// is one call of the store.
//
// # Guarantees
//
//   - The store hears of a hosting by Fence before anything else of it.
//   - A write that fails for a reason of the store's own is repeated a few times, with pauses, as the
//     same write. A refusal is final: it is fenced, in conflict, too large. A read is not repeated.
//   - The answer comes once, and soon: each attempt has a limit of time. A panic of the store is an
//     error of the call.
//   - At most CallsMax calls are at the store at a time. The others wait.
//
// # Not guaranteed
//
// After an error that is not a refusal it is unknown whether the write is stored. Calls have no order
// among each other: an entity makes one write at a time.
package direct
