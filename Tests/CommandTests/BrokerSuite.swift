// What suites with a broker in a folder of their own share.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

/// Tests that have a folder each.
class FolderSuite {
    /// The folder for everything that commands read and write.
    let folder: TemporaryFolder

    init(in folder: TemporaryFolder) {
        self.folder = folder
    }

    convenience init() throws {
        self.init(in: try TemporaryFolder())
    }

    /// Runs a command to its end.
    func run(_ words: String..., input: String = "", environment: [String: String] = [:]) throws -> Finished {
        try Run(words, in: folder, input: input, environment: environment).finished()
    }

    /// Plays a recording as fast as possible.
    func replay(_ text: String, _ more: String...) throws -> Finished {
        let file = try folder.write("session.ndjson", text)
        return try Run(["replay", file, "--speed", "max"] + more, in: folder).finished()
    }
}

/// Tests that run commands against a broker, one for each test.
class BrokerSuite: FolderSuite {
    let broker: Run

    init() throws {
        let folder = try TemporaryFolder()
        broker = try startBroker(in: folder)
        super.init(in: folder)
    }
}

/// Tests that each have a folder of plugins and start `up` on it.
class ShopSuite {
    let shop: Shop

    init() throws {
        shop = try Shop()
    }
}
