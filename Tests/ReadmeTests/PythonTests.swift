// The Python client in protocol/python, tested by Python with the command that was just built.

import Foundation
import TestSupport
import Testing

@Suite("the Python client", .someAtATime)
struct PythonTests {
    /// Whether there is a Python that can run it.
    static let isPossible: Bool = {
        let check = "import sys; sys.exit(sys.version_info < (3, 9))"
        let isPossible = (try? run(["-c", check]))?.status == 0
        if !isPossible { print("left out: tests of the Python client need python3, 3.9 or newer") }
        return isPossible
    }()

    @Test(
        "its own tests pass, and it plays all transcripts and vectors",
        .enabled(if: isPossible, "python3, 3.9 or newer, is not installed"),
        arguments: [
            "test_transcripts", "test_vectors", "test_plugboard", "test_reconnecting", "test_forking",
            "test_readme",
        ]
    )
    func passes(_ module: String) throws {
        let result = try Self.run(["-W", "error", "-m", "unittest", module])
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains(/Ran [1-9][0-9]* tests? in/), "\(result.output)")
    }

    /// Whether there is a checker of types.
    static let hasChecker: Bool = {
        let hasChecker = isPossible && (try? run(["-m", "mypy", "--version"]))?.status == 0
        if !hasChecker { print("left out: the check of the Python client's types needs mypy") }
        return hasChecker
    }()

    @Test("its types are right, strictly", .enabled(if: hasChecker, "mypy is not installed"))
    func types() throws {
        let result = try Self.run(["-m", "mypy", "--strict", "--cache-dir", "/dev/null", "../plugboard.py"])
        #expect(result.status == 0, "\(result.output)")
    }

    @Test("each of its test files has its turn here")
    func files() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasPrefix("test_") }.sorted()
        #expect(files.count == 6, "\(files)")
    }

    private var folder: URL { Self.folder }
    private static let folder = Readme.package.appendingPathComponent("protocol/python/tests")

    /// Runs Python, and waits for its end.
    private static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let variables = [
            "PLUGBOARD_COMMAND": SwiftProgram.products + "/plugboard", "PYTHONDONTWRITEBYTECODE": "1",
        ]
        return try TestProgram.run(
            "/usr/bin/env", ["python3"] + arguments, in: folder.path, environment: variables
        )
    }
}
