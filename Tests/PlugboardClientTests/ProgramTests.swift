// Programs with the library as processes of their own: plugins that a signal ends, and what
// remains in a process after many connections.

import PlugboardPosix
import Synchronization
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("programs", .someAtATime)
struct ProgramTests {
    @Test(
        "a plugin with a callback writes its last value at SIGTERM and exits with 0",
        arguments: [SIGTERM, SIGINT]
    )
    func greeter(signal: Int32) async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect("ada")
        let plugin = try Program("greeter", socket: broker.path)
        try await bus.awaitValue("greeter.ready", true)
        try await bus.publish("people.grace", 1)
        try await bus.awaitValue("greetings.ada", "hello people.grace")
        plugin.signal(signal)
        #expect(try await plugin.end() == .exited(0))
        #expect(try await bus.get("greeter.last", as: Int.self) == 500)
    }

    @Test("a plugin with a loop leaves it at SIGTERM, continues after it, and exits with 0")
    func looper() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let plugin = try Program("looper", socket: broker.path)
        try await bus.awaitValue("looper.ready", true)
        try await bus.publish("number", 21)
        try await bus.awaitValue("doubled", 42)
        plugin.signal(SIGTERM)
        #expect(try await plugin.end() == .exited(0))
        #expect(try await bus.get("looper.ready", as: Bool.self) == false)
    }

    @Test("a plugin without the convenience does the same")
    func byHand() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let plugin = try Program("by-hand", socket: broker.path)
        try await bus.awaitValue("by-hand.ready", true)
        try await bus.publish("number", 21)
        try await bus.awaitValue("doubled", 42)
        plugin.signal(SIGTERM)
        #expect(try await plugin.end() == .exited(0))
    }

    @Test("a plugin that prints goes on working when its reader is gone")
    func readerGone() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let plugin = try Program("talker", socket: broker.path)
        try await bus.publish("number", 1)
        try await bus.awaitValue("heard", 1)
        plugin.stopReading()
        for number in 2...3 {
            try await bus.publish("number", number)
            try await bus.awaitValue("heard", number)
        }
        plugin.signal(SIGTERM)
        #expect(try await plugin.end() == .exited(0))
    }

    @Test("a plugin also ends at SIGTERM while its broker is away")
    func brokerAway() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let plugin = try Program("looper", socket: broker.path)
        try await bus.awaitValue("looper.ready", true)
        try await broker.stop()
        plugin.signal(SIGTERM)
        // Its last publish fails at once. Because it is being stopped, it still exits with 0.
        #expect(try await plugin.end() == .exited(0))
    }

    @Test("a hundred times three connections leave no descriptor and no thread")
    func leaks() async throws {
        let broker = try await TestBroker()
        let program = try Program("leaks", socket: broker.path)
        #expect(try await program.end() == .exited(0))
        let words = program.output.split { $0 == " " || $0 == "\n" }
        try #require(words.count == 6, "\(program.output)")
        #expect(words[1] == words[2], "descriptors: \(program.output)")
        // The shared pool may have started a thread of its own meanwhile.
        let threads = try [#require(Int(words[4])), #require(Int(words[5]))]
        #expect(threads[1] <= threads[0] + 4, "threads: \(program.output)")
    }
}

/// One of `Tests/ClientPrograms`, as a child that is killed if a test forgets it.
final class Program: Sendable {
    private let child: Mutex<ChildProcess>
    private let printed = Mutex<[UInt8]>([])

    /// Compiled once for all tests of a run.
    private static let compiled = Result {
        let folder = SocketPath.folder(of: SocketPath.folder(of: #filePath)) + "/ClientPrograms"
        let path = SwiftProgram.products + "/client-programs"
        let sources = try Folder.names(in: folder).filter { $0.hasSuffix(".swift") }
        try SwiftProgram.compile(sources.map { "\(folder)/\($0)" }, to: path)
        return path
    }

    init(_ name: String, socket: String) throws {
        let variables = Environment.all().filter { !$0.hasPrefix("PLUGBOARD_SOCKET=") }
        child = Mutex(
            try ChildProcess(
                starting: ChildStart(
                    program: try Self.compiled.get(),
                    arguments: [name],
                    environment: variables + ["PLUGBOARD_SOCKET=" + socket],
                    output: .outputPiped
                )
            )
        )
    }

    var output: String { String(decoding: printed.withLock { $0 }, as: UTF8.self) }

    /// Closes the other end of its output.
    func stopReading() {
        child.withLock { $0.stopReading() }
    }

    func signal(_ number: Int32) {
        child.withLock { $0.signalGroup(number) }
    }

    /// Waits for its end, and reads its output meanwhile.
    func end() async throws -> ChildEnd {
        var end: ChildEnd?
        try await eventually("the program ends") {
            end = child.withLock { child in
                let end = child.end()
                if let fd = child.outputFD { read(fd) }
                return end
            }
            return end != nil
        }
        return try #require(end)
    }

    private func read(_ fd: Int32) {
        while case (.bytes, let piece) = PipeCalls.read(fd, upTo: 4_096) {
            printed.withLock { $0 += piece }
        }
    }
}

extension Bus {
    /// Waits until a key has this value.
    func awaitValue<Value: Codable & Equatable & Sendable>(_ key: String, _ value: Value) async throws {
        for try await event in try await subscribe(key) where event.kind == .update {
            if try event.decode(as: Value.self) == value { return }
        }
    }
}
