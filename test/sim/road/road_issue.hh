// SPDX-License-Identifier: BSD-3-Clause
// Fixed roads, on which path control was known to fail.
#ifndef SLUICE_TEST_SIM_ROAD_ISSUE_HH
#define SLUICE_TEST_SIM_ROAD_ISSUE_HH

struct RoadIssue {
    const char *name, *line; // as road_parse() reads it
};

// Ends with a name of nullptr.
extern const RoadIssue kRoadIssues[];

#endif
