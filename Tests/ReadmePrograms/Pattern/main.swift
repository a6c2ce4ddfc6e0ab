// The example of the pattern in one process that README.md shows, word for word. A test
// compares the two, and runs it.

import Observables

struct Cart: Codable, Sendable { var items = 0; var note = "" }

func watch(_ cart: some ValueObservable<Cart>) -> Disposable {
    cart.observe(\.items) { change in print(change.old ?? 0, "→", change.new) }
}

let cart = ObservableValue(Cart())
let watching = watch(cart)
cart.value.items += 1  // 0 → 1
cart.value.note = "gift"  // not a word: the number of items is the same
