// The plugin that README.md shows, word for word. A test compares the two, and runs it.

import PlugboardClient

struct Summary: Codable { var items: Int; var total: Double }

await Plugin.run(name: "free-shipping") { bus in
    for try await event in try await bus.subscribe("cart.summary") where event.kind == .update {
        let isFree = try event.decode(as: Summary.self).total >= 600
        try await bus.publish("shipping", isFree ? "free" : "4.90", cause: event.revision)
    }
}
