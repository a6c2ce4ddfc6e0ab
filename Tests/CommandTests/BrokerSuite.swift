// What suites share that talk to a broker in a folder of their own.

import PlugboardPosix
import TestSupport
import Testing

/// A suite of tests that run commands against one broker.
protocol BrokerSuite {
    /// Where the broker's socket lies, and everything that the commands write.
    var folder: TemporaryFolder { get }
}

extension BrokerSuite {
    /// Runs a command to its end.
    func run(_ words: String..., input: String = "", environment: [String: String] = [:]) throws -> Finished {
        try Run(words, in: folder, input: input, environment: environment).finished()
    }

    /// Plays a recording as fast as it goes.
    func replay(_ text: String, _ more: String...) throws -> Finished {
        let file = try folder.write("session.ndjson", text)
        return try Run(["replay", file, "--speed", "max"] + more, in: folder).finished()
    }
}
