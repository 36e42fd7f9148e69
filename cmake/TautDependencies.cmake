if(POLICY CMP0167)
  cmake_policy(SET CMP0167 OLD) # Pinocchio's and Coal's own files look for Boost the old way
endif()

# Pinocchio, Coal, Eigen and tinyxml2 come as wheels; their files stand under site-packages/cmeel.prefix of the Python
# that will import taut. An active CMAKE_PREFIX_PATH (a system install, conda) goes first.
find_package(Python 3.10 COMPONENTS Interpreter Development.Module REQUIRED)
execute_process(
  COMMAND "${Python_EXECUTABLE}" -c "import cmeel, pathlib; print(pathlib.Path(cmeel.__file__).parents[1] / 'cmeel.prefix')"
  OUTPUT_VARIABLE taut_cmeel_prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(taut_cmeel_prefix AND EXISTS "${taut_cmeel_prefix}")
  list(APPEND CMAKE_PREFIX_PATH "${taut_cmeel_prefix}")
endif()

find_package(Eigen3 3.4 REQUIRED)
find_package(pinocchio 4.1 REQUIRED)
find_package(coal 3.0 REQUIRED)
find_package(tinyxml2 REQUIRED)
find_package(assimp REQUIRED) # Coal reads meshes with it; taut gives it the files

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
