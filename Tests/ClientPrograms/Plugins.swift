// Several ways to write a plugin, each complete.

import Observables
import PlugboardClient

/// A plugin with a callback. It runs until a signal comes.
func greeter() async {
    await Plugin.run(name: "greeter") { bus in
        let observation = try await bus.subscribe("people.*") { event in
            guard event.kind == .update else { return }
            do {
                try bus.pipeline.publish("greetings.\(event.by ?? "")", "hello \(event.key)")
            } catch {
                print("can't greet: \(error)")
            }
        }
        try await bus.publish("greeter.ready", true)
        await bus.waitUntilStopped()
        observation.dispose()
        // The broker still gets these: the connection stays after the subscriptions until everything is
        // sent.
        for number in 1...500 { try bus.pipeline.publish("greeter.last", number) }
    }
}

/// A plugin with a loop, which ends at a signal.
func looper() async {
    await Plugin.run(name: "looper") { bus in
        let numbers = try await bus.subscribe("number")
        try await bus.publish("looper.ready", true)
        for try await event in numbers where event.kind == .update {
            try await bus.publish("doubled", try event.decode(as: Int.self) * 2)
        }
        try await bus.publish("looper.ready", false)
    }
}

/// A plugin that is one of several services of a program.
func service() async throws {
    let plugin = Plugin(name: "service") { bus in
        try await bus.setWill(.publish("service.state", "lost"))
        try await bus.publish("service.state", "ready")
        await bus.waitUntilStopped()
        try bus.pipeline.publish("service.state", "done")
    }
    try await withThrowingTaskGroup { services in
        services.addTask { try await plugin.run() }
        try await services.next()
    }
    print("the rest of the program ends, too")
}

/// A plugin that prints what it does.
func talker() async {
    await Plugin.run(name: "talker") { bus in
        try await bus.subscribe("number").forEach { event in
            guard event.kind == .update else { return }
            Console.say("heard \(event.key)")
            try await bus.publish("heard", event.decode(as: Int.self))
        }
    }
}

/// A plugin without `Plugin.run`.
func byHand() async throws {
    let bus = try await Bus.connect(name: "by-hand")
    // Whoever reads that the program is ready may end it at once.
    bus.stopAtSignals()
    let number = bus.observable("number", default: 0)
    let double = bus.observable("doubled", default: 0)
    let observation = number.observe { double.value = $0.new * 2 }
    try await bus.publish("by-hand.ready", true)
    try await bus.runUntilStopped()
    observation.dispose()
}
