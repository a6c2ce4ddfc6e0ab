// Made by .ci/page from plugins/dashboard/page/index.html: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let indexHTML: StaticString = ##"""
<!doctype html>
"""##
}
