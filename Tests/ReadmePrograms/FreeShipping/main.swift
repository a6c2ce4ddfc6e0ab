// The plugin that README.md shows, word for word. A test compares the two, and runs it.

import PlugboardClient

struct Summary: Codable { var items: Int; var total: Double }

await Plugin.run(name: "free-shipping") { bus in
    // A value that is no Summary is told on standard error, and the next one is waited for.
    for try await summary in try await bus.subscribe("cart.summary").updates(as: Summary.self) {
        let isFree = summary.value.total >= 600
        try await bus.publish("shipping", isFree ? "free" : "4.90", cause: summary.revision)
    }
}
